//go:build !purego

#include "textflag.h"
#include "asm_amd64.h"

// The rows kernels with AVX2: as with AVX-512, but eight columns at a time. Y14 has the columns in use. A byte of signs is
// copied to all bytes of a register, and lane l shifts its own bit up to the sign position of a float, by 7-l (Y15).

DATA lanes<>+0(SB)/8, $0x0000000100000000
DATA lanes<>+8(SB)/8, $0x0000000300000002
DATA lanes<>+16(SB)/8, $0x0000000500000004
DATA lanes<>+24(SB)/8, $0x0000000700000006
GLOBL lanes<>(SB), RODATA|NOPTR, $32

DATA lifts<>+0(SB)/8, $0x0000000600000007
DATA lifts<>+8(SB)/8, $0x0000000400000005
DATA lifts<>+16(SB)/8, $0x0000000200000003
DATA lifts<>+24(SB)/8, $0x0000000000000001
GLOBL lifts<>(SB), RODATA|NOPTR, $32

// COLUMNS sets Y14 for CX columns, at most eight.
#define COLUMNS \
	VMOVD        CX, X14               \
	VPBROADCASTD X14, Y14              \
	VPCMPGTD     lanes<>(SB), Y14, Y14

// SIGNED sets Y5 to the BX-th number at R10 with the signs at R11. Y2 has the sign bit in all lanes.
#define SIGNED \
	VPBROADCASTB (R11), Y5       \
	VBROADCASTSS (R10)(BX*4), Y6 \
	VPSLLVD      Y15, Y5, Y5     \
	VPAND        Y2, Y5, Y5      \
	VPXOR        Y6, Y5, Y5

// STORE writes the columns in use of Y5, of CX or eight, to AX.
#define STORE(four, two, one, stored) \
	CMPQ    CX, $8   \
	JLT     four     \
	VMOVUPS Y5, (AX) \
	JMP     stored   \
	STORE7(four, two, one, stored)

// func signPerturbRows(y, x []float32, mu float32, signs []uint64, stride int)
TEXT ·signPerturbRows(SB), NOSPLIT, $0-88
	CMPB         ·isa(SB), $1
	JEQ          avx2
	JMP          ·signPerturbRowsAVX512(SB)
avx2:
	MOVQ         y_base+0(FP), DI
	MOVQ         y_len+8(FP), DX
	MOVQ         x_base+24(FP), SI
	MOVQ         x_len+32(FP), CX
	VBROADCASTSS mu+48(FP), Y0
	MOVQ         signs_base+56(FP), R8
	MOVQ         stride+80(FP), R9
	SHLQ         $3, R9
	LEAQ         (CX*4), R10
	LEAQ         (DI)(DX*4), DX
	VMOVDQU      lifts<>(SB), Y15
columns:
	COLUMNS
	VMASKMOVPS   (SI), Y14, Y1
	VADDPS       Y0, Y1, Y2       // x + mu
	VSUBPS       Y0, Y1, Y3       // x - mu
	MOVQ         DI, BX
	MOVQ         R8, R11
rows:
	VPBROADCASTB (R11), Y5
	VPSLLVD      Y15, Y5, Y5
	VBLENDVPS    Y5, Y3, Y2, Y5
	MOVQ         BX, AX
	STORE(store4, store2, store1, stored)
	ADDQ         R9, R11
	ADDQ         R10, BX
	CMPQ         BX, DX
	JLT          rows
	ADDQ         $32, SI
	ADDQ         $32, DI
	INCQ         R8
	SUBQ         $8, CX
	JGT          columns
	VZEROUPPER
	RET

// func signReplaceRows(table []float32, rows []int, v, abar, c []float32, signs []uint64, byB, byM float32, stride int)
TEXT ·signReplaceRows(SB), NOSPLIT, $0-160
	CMPB         ·isa(SB), $1
	JEQ          avx2
	JMP          ·signReplaceRowsAVX512(SB)
avx2:
	MOVQ         table_base+0(FP), DI
	MOVQ         rows_base+24(FP), SI
	MOVQ         rows_len+32(FP), DX
	MOVQ         v_base+48(FP), R12
	MOVQ         v_len+56(FP), CX
	MOVQ         abar_base+72(FP), R13
	MOVQ         c_base+96(FP), R10
	MOVQ         signs_base+120(FP), R8
	VBROADCASTSS byB+144(FP), Y0
	VBROADCASTSS byM+148(FP), Y1
	MOVQ         stride+152(FP), R9
	SHLQ         $3, R9
	VPCMPEQD     Y2, Y2, Y2
	VPSLLD       $31, Y2, Y2
	VMOVDQU      lifts<>(SB), Y15
columns:
	COLUMNS
	VMASKMOVPS   (R12), Y14, Y3
	VMASKMOVPS   (R13), Y14, Y4
	MOVQ         R8, R11
	XORL         BX, BX
rows:
	MOVQ         (SI)(BX*8), AX
	IMULQ        v_len+56(FP), AX
	LEAQ         (DI)(AX*4), AX
	SIGNED
	VMASKMOVPS   (AX), Y14, Y6
	VSUBPS       Y6, Y5, Y6       // q - a
	VMULPS       Y0, Y6, Y7
	VADDPS       Y7, Y3, Y3
	VMULPS       Y1, Y6, Y7
	VADDPS       Y7, Y4, Y4
	STORE(store4, store2, store1, stored)
	ADDQ         R9, R11
	INCQ         BX
	CMPQ         BX, DX
	JLT          rows
	VMOVAPS      Y3, Y5
	MOVQ         R12, AX
	STORE(v4, v2, v1, v0)
	VMOVAPS      Y4, Y5
	MOVQ         R13, AX
	STORE(abar4, abar2, abar1, abar0)
	ADDQ         $32, R12
	ADDQ         $32, R13
	ADDQ         $32, DI
	INCQ         R8
	SUBQ         $8, CX
	JGT          columns
	VZEROUPPER
	RET

// func signFillRows(table []float32, rows []int, sum, c []float32, signs []uint64, stride int)
TEXT ·signFillRows(SB), NOSPLIT, $0-128
	CMPB         ·isa(SB), $1
	JEQ          avx2
	JMP          ·signFillRowsAVX512(SB)
avx2:
	MOVQ         table_base+0(FP), DI
	MOVQ         rows_base+24(FP), SI
	MOVQ         rows_len+32(FP), DX
	MOVQ         sum_base+48(FP), R12
	MOVQ         sum_len+56(FP), CX
	MOVQ         c_base+72(FP), R10
	MOVQ         signs_base+96(FP), R8
	MOVQ         stride+120(FP), R9
	SHLQ         $3, R9
	VPCMPEQD     Y2, Y2, Y2
	VPSLLD       $31, Y2, Y2
	VMOVDQU      lifts<>(SB), Y15
columns:
	COLUMNS
	VMASKMOVPS   (R12), Y14, Y3
	MOVQ         R8, R11
	XORL         BX, BX
rows:
	MOVQ         (SI)(BX*8), AX
	IMULQ        sum_len+56(FP), AX
	LEAQ         (DI)(AX*4), AX
	SIGNED
	VADDPS       Y5, Y3, Y3
	STORE(store4, store2, store1, stored)
	ADDQ         R9, R11
	INCQ         BX
	CMPQ         BX, DX
	JLT          rows
	VMOVAPS      Y3, Y5
	MOVQ         R12, AX
	STORE(sum4, sum2, sum1, sum0)
	ADDQ         $32, R12
	ADDQ         $32, DI
	INCQ         R8
	SUBQ         $8, CX
	JGT          columns
	VZEROUPPER
	RET

// func dotRows(z []float64, x [][]float32, table []float32, rows []int)
//
// With AVX2 a row has at most sixteen columns, in Y0 and Y1.
TEXT ·dotRows(SB), NOSPLIT, $0-96
	CMPB         ·isa(SB), $1
	JEQ          avx2
	JMP          ·dotRowsAVX512(SB)
avx2:
	MOVQ         z_base+0(FP), DI
	MOVQ         z_len+8(FP), DX
	MOVQ         x_base+24(FP), SI
	MOVQ         table_base+48(FP), R10
	MOVQ         rows_base+72(FP), R11
	MOVQ         8(SI), R12
	MOVQ         R12, CX
	SUBQ         $8, CX
	COLUMNS
	VMOVDQA      Y14, Y13             // the second eight columns
	MOVQ         R12, CX
	COLUMNS
	VXORPS       X9, X9, X9
rows:
	MOVQ         (SI), R8
	MOVQ         (R11), R9
	IMULQ        R12, R9
	LEAQ         (R10)(R9*4), R9
	VMASKMOVPS   (R8), Y14, Y0
	VMASKMOVPS   (R9), Y14, Y2
	VMULPS       Y2, Y0, Y0
	CMPQ         CX, $8
	JLE          fold
	VMASKMOVPS   32(R8), Y13, Y1
	VMASKMOVPS   32(R9), Y13, Y2
	VMULPS       Y2, Y1, Y1
	VADDPS       Y1, Y0, Y0
fold:
	VEXTRACTF128 $1, Y0, X1
	VADDPS       X1, X0, X0
	VMOVHLPS     X0, X0, X1
	VADDPS       X1, X0, X0
	VMOVSHDUP    X0, X1
	VADDSS       X1, X0, X0
	VCVTSS2SD    X0, X9, X0
	VADDSD       X9, X0, X0
	VMOVSD       X0, (DI)
	ADDQ         $24, SI
	ADDQ         $8, R11
	ADDQ         $8, DI
	DECQ         DX
	JNE          rows
	VZEROUPPER
	RET
