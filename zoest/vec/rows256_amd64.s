//go:build !purego

#include "textflag.h"

// The rows kernels jump to AVX-512 or use AVX2: as there, all rows of some columns at a time, so that data common to all rows
// stays in registers. With AVX2 they are eight columns, of at least eight. The last eight overlap with those before: the same
// numbers are stored twice, but of a sum only the lanes of new columns.

DATA lanes<>+0(SB)/8, $0x0000000100000000
DATA lanes<>+8(SB)/8, $0x0000000300000002
DATA lanes<>+16(SB)/8, $0x0000000500000004
DATA lanes<>+24(SB)/8, $0x0000000700000006
GLOBL lanes<>(SB), RODATA|NOPTR, $32

// DISPATCH jumps to the variant for AVX-512.
#define DISPATCH(AVX512) \
	CMPB ·isa(SB), $1 \
	JEQ  avx2         \
	JMP  AVX512(SB)   \
avx2:

// COLUMNS begins with the eight columns from CX on, or the last eight, and sets CX to the first. R11 is then the address of
// the two bytes of signs, from R8 on, that contain those of the first row. Each lane of Y15 has how far a lane of such bytes,
// copied to all words, shifts its own bit up to the sign position of a float. Y13 has the lanes of old columns.
#define COLUMNS(columns) \
	MOVQ         columns, AX           \
	SUBQ         $8, AX                \
	MOVQ         CX, BX                \
	CMPQ         CX, AX                \
	CMOVQGT      AX, CX                \
	SUBQ         CX, BX                \
	VMOVD        BX, X13               \
	VPBROADCASTD X13, Y13              \
	VPCMPGTD     lanes<>(SB), Y13, Y13 \
	LEAQ         -1(CX), R11           \
	SARQ         $3, R11               \
	XORL         AX, AX                \
	CMPQ         R11, AX               \
	CMOVQLT      AX, R11               \
	LEAQ         15(R11*8), BX         \
	SUBQ         CX, BX                \
	VMOVD        BX, X15               \
	VPBROADCASTD X15, Y15              \
	VPSUBD       lanes<>(SB), Y15, Y15 \
	ADDQ         R8, R11

// PLACE converts AX, the number of a row, to the address of its columns, and sets Y5 to the BX-th number at R10 with the
// signs at R11. Y2 has the sign bit in all lanes.
#define PLACE(columns) \
	MOVQ         (SI)(BX*8), AX  \
	IMULQ        columns, AX     \
	LEAQ         (DI)(AX*4), AX  \
	VPBROADCASTW (R11), Y5       \
	VBROADCASTSS (R10)(BX*4), Y6 \
	VPSLLVD      Y15, Y5, Y5     \
	VPAND        Y2, Y5, Y5      \
	VPXOR        Y6, Y5, Y5

// ADDED stores a sum, without the lanes of old columns.
#define ADDED(SUM, at) \
	VMOVUPS   at, Y5            \
	VBLENDVPS Y13, Y5, SUM, SUM \
	VMOVUPS   SUM, at

// func signPerturbRows(y, x []float32, mu float32, signs []uint64, stride int)
TEXT ·signPerturbRows(SB), NOSPLIT, $0-88
	DISPATCH(·signPerturbRowsAVX512)
	MOVQ         y_base+0(FP), DI
	MOVQ         y_len+8(FP), DX
	MOVQ         x_base+24(FP), SI
	MOVQ         x_len+32(FP), R10
	VBROADCASTSS mu+48(FP), Y0
	MOVQ         signs_base+56(FP), R8
	MOVQ         stride+80(FP), R9
	SHLQ         $3, R9
	LEAQ         (DI)(DX*4), DX
	XORL         CX, CX
columns:
	COLUMNS(R10)
	VMOVUPS      (SI)(CX*4), Y1
	VADDPS       Y0, Y1, Y2       // x + mu
	VSUBPS       Y0, Y1, Y3       // x - mu
	LEAQ         (DI)(CX*4), BX
rows:
	VPBROADCASTW (R11), Y5
	VPSLLVD      Y15, Y5, Y5
	VBLENDVPS    Y5, Y3, Y2, Y5
	VMOVUPS      Y5, (BX)
	ADDQ         R9, R11
	LEAQ         (BX)(R10*4), BX
	CMPQ         BX, DX
	JLT          rows
	ADDQ         $8, CX
	CMPQ         CX, R10
	JLT          columns
	VZEROUPPER
	RET

// func signReplaceRows(table []float32, rows []int, v, abar, c []float32, signs []uint64, byB, byM float32, stride int)
TEXT ·signReplaceRows(SB), NOSPLIT, $0-160
	DISPATCH(·signReplaceRowsAVX512)
	MOVQ         rows_base+24(FP), SI
	MOVQ         rows_len+32(FP), DX
	MOVQ         v_base+48(FP), R12
	MOVQ         abar_base+72(FP), R13
	MOVQ         c_base+96(FP), R10
	MOVQ         signs_base+120(FP), R8
	VBROADCASTSS byB+144(FP), Y0
	VBROADCASTSS byM+148(FP), Y1
	MOVQ         stride+152(FP), R9
	SHLQ         $3, R9
	VPCMPEQD     Y2, Y2, Y2
	VPSLLD       $31, Y2, Y2
	XORL         CX, CX
columns:
	COLUMNS(v_len+56(FP))
	MOVQ         table_base+0(FP), DI
	LEAQ         (DI)(CX*4), DI
	VMOVUPS      (R12)(CX*4), Y3
	VMOVUPS      (R13)(CX*4), Y4
	XORL         BX, BX
rows:
	PLACE(v_len+56(FP))
	VSUBPS       (AX), Y5, Y6     // q - a
	VMULPS       Y0, Y6, Y7
	VADDPS       Y7, Y3, Y3
	VMULPS       Y1, Y6, Y7
	VADDPS       Y7, Y4, Y4
	VMOVUPS      Y5, (AX)
	ADDQ         R9, R11
	INCQ         BX
	CMPQ         BX, DX
	JLT          rows
	ADDED(Y3, (R12)(CX*4))
	ADDED(Y4, (R13)(CX*4))
	ADDQ         $8, CX
	CMPQ         CX, v_len+56(FP)
	JLT          columns
	VZEROUPPER
	RET

// func signFillRows(table []float32, rows []int, sum, c []float32, signs []uint64, stride int)
TEXT ·signFillRows(SB), NOSPLIT, $0-128
	DISPATCH(·signFillRowsAVX512)
	MOVQ         rows_base+24(FP), SI
	MOVQ         rows_len+32(FP), DX
	MOVQ         sum_base+48(FP), R12
	MOVQ         c_base+72(FP), R10
	MOVQ         signs_base+96(FP), R8
	MOVQ         stride+120(FP), R9
	SHLQ         $3, R9
	VPCMPEQD     Y2, Y2, Y2
	VPSLLD       $31, Y2, Y2
	XORL         CX, CX
columns:
	COLUMNS(sum_len+56(FP))
	MOVQ         table_base+0(FP), DI
	LEAQ         (DI)(CX*4), DI
	VMOVUPS      (R12)(CX*4), Y3
	XORL         BX, BX
rows:
	PLACE(sum_len+56(FP))
	VADDPS       Y5, Y3, Y3
	VMOVUPS      Y5, (AX)
	ADDQ         R9, R11
	INCQ         BX
	CMPQ         BX, DX
	JLT          rows
	ADDED(Y3, (R12)(CX*4))
	ADDQ         $8, CX
	CMPQ         CX, sum_len+56(FP)
	JLT          columns
	VZEROUPPER
	RET
