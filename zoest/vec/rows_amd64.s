//go:build !purego

#include "textflag.h"

// The rows kernels with AVX-512, for short rows: sixteen columns at a time, of all rows, so that data common to all
// rows stays in registers. K2 has the columns in use.

// COLUMNS sets K2 for CX columns, at most sixteen.
#define COLUMNS \
	MOVL    $0xffff, AX \
	CMPQ    CX, $16     \
	JGE     full        \
	MOVL    $1, AX      \
	SHLL    CX, AX      \
	DECL    AX          \
full:                \
	KMOVW   AX, K2

// SIGNBIT puts the sign bit into all lanes of Z.
#define SIGNBIT(Z) \
	VPTERNLOGD $0xff, Z, Z, Z \
	VPSLLD     $31, Z, Z

// ROW converts AX, the count of numbers in the table before a row, to the row's address, and sets Z5 to the BX-th
// number at R10 with the signs at R11.
#define ROW \
	LEAQ         (DI)(AX*4), AX  \
	KMOVW        (R11), K1       \
	VBROADCASTSS (R10)(BX*4), Z5 \
	VPXORD       Z2, Z5, K1, Z5

// STORE writes the columns in use of Z5, of CX or sixteen, to AX, in whole pieces: the processor would delay the next
// row until everything under a mask is stored.
#define STORE \
	CMPQ         CX, $16        \
	JLT          store8         \
	VMOVUPS      Z5, (AX)       \
	JMP          stored         \
store8:                      \
	TESTL        $8, CX         \
	JEQ          store4         \
	VMOVUPS      Y5, (AX)       \
	VEXTRACTF64X4 $1, Z5, Y5    \
	ADDQ         $32, AX        \
store4:                      \
	TESTL        $4, CX         \
	JEQ          store2         \
	VMOVUPS      X5, (AX)       \
	VEXTRACTF128 $1, Y5, X5     \
	ADDQ         $16, AX        \
store2:                      \
	TESTL        $2, CX         \
	JEQ          store1         \
	VMOVSD       X5, (AX)       \
	VMOVHLPS     X5, X5, X5     \
	ADDQ         $8, AX         \
store1:                      \
	TESTL        $1, CX         \
	JEQ          stored         \
	VMOVSS       X5, (AX)       \
stored:

// func signPerturbRowsAVX512(y, x []float32, mu float32, signs []uint64, stride int)
TEXT ·signPerturbRowsAVX512(SB), NOSPLIT, $0-88
	MOVQ         y_base+0(FP), DI
	MOVQ         y_len+8(FP), DX
	MOVQ         x_base+24(FP), SI
	MOVQ         x_len+32(FP), CX
	VBROADCASTSS mu+48(FP), Z0
	MOVQ         signs_base+56(FP), R8
	MOVQ         stride+80(FP), R9
	SHLQ         $3, R9
	LEAQ         (CX*4), R10
	LEAQ         (DI)(DX*4), DX
columns:
	COLUMNS
	VMOVUPS.Z    (SI), K2, Z1
	VADDPS       Z0, Z1, Z2       // x + mu
	VSUBPS       Z0, Z1, Z3       // x - mu
	MOVQ         DI, BX
	MOVQ         R8, R11
rows:
	KMOVW        (R11), K1
	VBLENDMPS    Z3, Z2, K1, Z4
	VMOVUPS      Z4, K2, (BX)
	ADDQ         R9, R11
	ADDQ         R10, BX
	CMPQ         BX, DX
	JLT          rows
	ADDQ         $64, SI
	ADDQ         $64, DI
	ADDQ         $2, R8
	SUBQ         $16, CX
	JGT          columns
	VZEROUPPER
	RET

// func signReplaceRowsAVX512(table []float32, rows []int, v, abar, c []float32, signs []uint64, byB, byM float32, stride int)
TEXT ·signReplaceRowsAVX512(SB), NOSPLIT, $0-160
	MOVQ         table_base+0(FP), DI
	MOVQ         rows_base+24(FP), SI
	MOVQ         rows_len+32(FP), DX
	MOVQ         v_base+48(FP), R12
	MOVQ         v_len+56(FP), CX
	MOVQ         abar_base+72(FP), R13
	MOVQ         c_base+96(FP), R10
	MOVQ         signs_base+120(FP), R8
	VBROADCASTSS byB+144(FP), Z0
	VBROADCASTSS byM+148(FP), Z1
	MOVQ         stride+152(FP), R9
	SHLQ         $3, R9
	SIGNBIT(Z2)
columns:
	COLUMNS
	VMOVUPS.Z    (R12), K2, Z3
	VMOVUPS.Z    (R13), K2, Z4
	MOVQ         R8, R11
	XORL         BX, BX
rows:
	MOVQ         (SI)(BX*8), AX
	IMULQ        v_len+56(FP), AX
	ROW
	VMOVUPS.Z    (AX), K2, Z6
	VSUBPS       Z6, Z5, Z6       // q - a
	VMULPS       Z0, Z6, Z7
	VADDPS       Z7, Z3, Z3
	VMULPS       Z1, Z6, Z7
	VADDPS       Z7, Z4, Z4
	STORE
	ADDQ         R9, R11
	INCQ         BX
	CMPQ         BX, DX
	JLT          rows
	VMOVUPS      Z3, K2, (R12)
	VMOVUPS      Z4, K2, (R13)
	ADDQ         $64, R12
	ADDQ         $64, R13
	ADDQ         $64, DI
	ADDQ         $2, R8
	SUBQ         $16, CX
	JGT          columns
	VZEROUPPER
	RET

// func signFillRowsAVX512(table []float32, rows []int, sum, c []float32, signs []uint64, stride int)
TEXT ·signFillRowsAVX512(SB), NOSPLIT, $0-128
	MOVQ         table_base+0(FP), DI
	MOVQ         rows_base+24(FP), SI
	MOVQ         rows_len+32(FP), DX
	MOVQ         sum_base+48(FP), R12
	MOVQ         sum_len+56(FP), CX
	MOVQ         c_base+72(FP), R10
	MOVQ         signs_base+96(FP), R8
	MOVQ         stride+120(FP), R9
	SHLQ         $3, R9
	SIGNBIT(Z2)
columns:
	COLUMNS
	VMOVUPS.Z    (R12), K2, Z3
	MOVQ         R8, R11
	XORL         BX, BX
rows:
	MOVQ         (SI)(BX*8), AX
	IMULQ        sum_len+56(FP), AX
	ROW
	VADDPS       Z5, Z3, Z3
	STORE
	ADDQ         R9, R11
	INCQ         BX
	CMPQ         BX, DX
	JLT          rows
	VMOVUPS      Z3, K2, (R12)
	ADDQ         $64, R12
	ADDQ         $64, DI
	ADDQ         $2, R8
	SUBQ         $16, CX
	JGT          columns
	VZEROUPPER
	RET
