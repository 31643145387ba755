// Macros that the kernels of this package share.

// DISPATCH jumps to the variant that the processor supports (see isa); all variants have the arguments of their entry.
#define DISPATCH(AVX512, AVX2, GO) \
	CMPB ·isa(SB), $1 \
	JLT  go           \
	JEQ  avx2         \
	JMP  AVX512(SB)   \
avx2:                 \
	JMP  AVX2(SB)     \
go:                   \
	JMP  GO(SB)

// LONG jumps to AVX2, if available, with vectors of 2^23 elements or more, which exceed any cache: AVX-512 gains
// nothing there, and is slower on some processors.
#define LONG(len, AVX2) \
	CMPQ len, $0x800000 \
	JLT  short          \
	CMPB ·isa(SB), $0   \
	JEQ  short          \
	JMP  AVX2(SB)       \
short:

// ADVANCE advances 1, 2, 3 or 4 pointers.
#define ADVANCE1(bytes) \
	ADDQ $bytes, DI

#define ADVANCE2(bytes) \
	ADDQ $bytes, SI \
	ADDQ $bytes, DI

#define ADVANCE3(bytes) \
	ADDQ $bytes, DX \
	ADDQ $bytes, SI \
	ADDQ $bytes, DI
