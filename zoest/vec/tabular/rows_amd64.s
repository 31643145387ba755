//go:build !purego

#include "textflag.h"

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

// PRODUCTS adds the products of sixteen elements at R8 and R9, LAST those of the columns in use.
#define PRODUCTS(off, T, ACC) \
	VMOVUPS off(R8), T     \
	VMULPS  off(R9), T, T  \
	VADDPS  T, ACC, ACC

#define LAST(off, T, ACC) \
	VMOVUPS.Z off(R8), K2, T    \
	VMULPS.Z  off(R9), T, K2, T \
	VADDPS    T, ACC, ACC

// func dotRows(z []float64, x [][]float32, table []float32, rows []int)
//
// A row has 8 to 16 columns. The products of the last CX mod 8 columns, in the lanes of Y14, are added to those of the first.
TEXT ·dotRows(SB), NOSPLIT, $0-96
	DISPATCH(·dotRowsAVX512)
	MOVQ         z_base+0(FP), DI
	MOVQ         z_len+8(FP), DX
	MOVQ         x_base+24(FP), SI
	MOVQ         table_base+48(FP), R10
	MOVQ         rows_base+72(FP), R11
	MOVQ         8(SI), R12
	MOVQ         R12, CX
	SUBQ         $8, CX
	VMOVD        CX, X14
	VPBROADCASTD X14, Y14
	VPCMPGTD     lanes<>(SB), Y14, Y14
	VXORPS       X9, X9, X9
rows:
	MOVQ         (SI), R8
	MOVQ         (R11), R9
	IMULQ        R12, R9
	LEAQ         (R10)(R9*4), R9
	VMOVUPS      (R8), Y0
	VMULPS       (R9), Y0, Y0
	VMASKMOVPS   32(R8), Y14, Y1
	VMASKMOVPS   32(R9), Y14, Y2
	VMULPS       Y2, Y1, Y1
	VADDPS       Y1, Y0, Y0
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

// func dotRowsAVX512(z []float64, x [][]float32, table []float32, rows []int)
//
// The lanes of a row are in Z0 to Z3, in the order that package vec defines; reduce_amd64.s there explains the zeros.
TEXT ·dotRowsAVX512(SB), NOSPLIT, $0-96
	MOVQ      z_base+0(FP), DI
	MOVQ      z_len+8(FP), DX
	MOVQ      x_base+24(FP), SI
	MOVQ      table_base+48(FP), R10
	MOVQ      rows_base+72(FP), R11
	MOVQ      8(SI), R12
	MOVQ      R12, CX
	ANDL      $15, CX
	COLUMNS
	VXORPS    X9, X9, X9
rows:
	MOVQ      (SI), R8
	MOVQ      (R11), R9
	IMULQ     R12, R9
	LEAQ      (R10)(R9*4), R9
	VPXORD    Z0, Z0, Z0
	MOVQ      R12, CX
	SUBQ      $16, CX
	JLT       last0
	VPXORD    Z1, Z1, Z1
	VPXORD    Z2, Z2, Z2
	VPXORD    Z3, Z3, Z3
	SUBQ      $48, CX
	JLT       tail
loop:
	PRODUCTS(0, Z4, Z0)
	PRODUCTS(64, Z5, Z1)
	PRODUCTS(128, Z6, Z2)
	PRODUCTS(192, Z7, Z3)
	ADDQ      $256, R8
	ADDQ      $256, R9
	SUBQ      $64, CX
	JGE       loop
tail:
	ADDQ      $48, CX
	JLT       last0
	PRODUCTS(0, Z4, Z0)
	SUBQ      $16, CX
	JLT       last1
	PRODUCTS(64, Z5, Z1)
	SUBQ      $16, CX
	JLT       last2
	PRODUCTS(128, Z6, Z2)
	LAST(192, Z7, Z3)
	JMP       fold
last2:
	LAST(128, Z6, Z2)
	JMP       fold
last1:
	LAST(64, Z5, Z1)
	JMP       fold
last0:
	LAST(0, Z4, Z0)
	CMPQ      R12, $16
	JLT       fold16
fold:
	VADDPS    Z2, Z0, Z0
	VADDPS    Z3, Z1, Z1
	VADDPS    Z1, Z0, Z0
fold16:
	VEXTRACTF64X4 $1, Z0, Y1
	VADDPS    Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPS    X1, X0, X0
	VMOVHLPS  X0, X0, X1
	VADDPS    X1, X0, X0
	VMOVSHDUP X0, X1
	VADDSS    X1, X0, X0
	VCVTSS2SD X0, X9, X0
	VADDSD    X9, X0, X0
	VMOVSD    X0, (DI)
	ADDQ      $24, SI
	ADDQ      $8, R11
	ADDQ      $8, DI
	DECQ      DX
	JNE       rows
	VZEROUPPER
	RET
