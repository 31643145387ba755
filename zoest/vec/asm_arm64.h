// Macros that the kernels of this package share.

// Go's assembler lacks these instructions: on four lanes, register d = n op m, each given by its number.
#define FADDV(m, n, d) WORD $(0x4E20D400 | (m)<<16 | (n)<<5 | (d))
#define FSUBV(m, n, d) WORD $(0x4EA0D400 | (m)<<16 | (n)<<5 | (d))
#define FMULV(m, n, d) WORD $(0x6E20DC00 | (m)<<16 | (n)<<5 | (d))

// LD and ST move 16, 8, 4, 2 or 1 elements between memory at R and as many lanes of A to D. The lanes above 2 or 1 are
// undefined and never stored.
#define LD16(R, A, B, C, D) VLD1 (R), [A.S4, B.S4, C.S4, D.S4]
#define LD8(R, A, B, C, D) VLD1 (R), [A.S4, B.S4]
#define LD4(R, A, B, C, D) VLD1 (R), [A.S4]
#define LD2(R, A, B, C, D) VLD1 (R), [A.S2]
#define LD1(R, A, B, C, D) VLD1 (R), A.S[0]

#define ST16(R, A, B, C, D) VST1.P [A.S4, B.S4, C.S4, D.S4], 64(R)
#define ST8(R, A, B, C, D) VST1.P [A.S4, B.S4], 32(R)
#define ST4(R, A, B, C, D) VST1.P [A.S4], 16(R)
#define ST2(R, A, B, C, D) VST1.P [A.S2], 8(R)
#define ST1(R, A, B, C, D) VST1.P A.S[0], 4(R)

// LDP is LD that advances R; ST always does.
#define LDP16(R, A, B, C, D) VLD1.P 64(R), [A.S4, B.S4, C.S4, D.S4]
#define LDP8(R, A, B, C, D) VLD1.P 32(R), [A.S4, B.S4]
#define LDP4(R, A, B, C, D) VLD1.P 16(R), [A.S4]
#define LDP2(R, A, B, C, D) VLD1.P 8(R), [A.S2]
#define LDP1(R, A, B, C, D) VLD1.P 4(R), A.S[0]

// OP applies F to the numbers of the registers of 16, 8 or at most 4 elements.
#define OP16(F) \
	F(0) \
	F(1) \
	F(2) \
	F(3)
#define OP8(F) \
	F(0) \
	F(1)
#define OP4(F) \
	F(0)
