//go:build !purego

#include "textflag.h"

// Philox4x32-10 on eight counters at a time, four in each of two sets of registers. A 32-bit number has a 64-bit lane:
// the product of two lower halves fills the lane, and the upper half of a factor does not matter. The high half of a
// product is shifted down; the low half stays in place.

DATA weyl<>+0(SB)/8, $0x9E3779B99E3779B9
DATA weyl<>+8(SB)/8, $0x9E3779B99E3779B9
DATA weyl<>+16(SB)/8, $0x9E3779B99E3779B9
DATA weyl<>+24(SB)/8, $0x9E3779B99E3779B9
DATA weyl<>+32(SB)/8, $0xBB67AE85BB67AE85
DATA weyl<>+40(SB)/8, $0xBB67AE85BB67AE85
DATA weyl<>+48(SB)/8, $0xBB67AE85BB67AE85
DATA weyl<>+56(SB)/8, $0xBB67AE85BB67AE85
GLOBL weyl<>(SB), RODATA|NOPTR, $64

DATA multipliers<>+0(SB)/4, $0xD2511F53
DATA multipliers<>+4(SB)/4, $0xCD9E8D57
GLOBL multipliers<>(SB), RODATA|NOPTR, $8

DATA places<>+0(SB)/8, $0
DATA places<>+8(SB)/8, $1
DATA places<>+16(SB)/8, $2
DATA places<>+24(SB)/8, $3
DATA places<>+32(SB)/8, $4
DATA places<>+40(SB)/8, $5
DATA places<>+48(SB)/8, $6
DATA places<>+56(SB)/8, $7
GLOBL places<>(SB), RODATA|NOPTR, $64

// HALF is a round of four counters A, B, C, D with the multipliers in Y12 and Y13 and the round's key in Y14 and Y15.
// The next counters are A, T1, C and T0; B and D are free.
#define HALF(A, B, C, D, T0, T1) \
	VPMULUDQ A, Y12, T0 \
	VPMULUDQ C, Y13, T1 \
	VPXOR    Y14, B, B  \
	VPXOR    Y15, D, D  \
	VPSRLQ   $32, T1, A \
	VPSRLQ   $32, T0, C \
	VPXOR    B, A, A    \
	VPXOR    D, C, C

#define NEXTKEY \
	VPADDD weyl<>+0(SB), Y14, Y14  \
	VPADDD weyl<>+32(SB), Y15, Y15

#define TWOROUNDS \
	HALF(Y0, Y1, Y2, Y3, Y4, Y5)    \
	HALF(Y6, Y7, Y8, Y9, Y10, Y11)  \
	NEXTKEY                         \
	HALF(Y0, Y5, Y2, Y4, Y3, Y1)    \
	HALF(Y6, Y11, Y8, Y10, Y9, Y7)

// STORE writes the blocks of four counters.
#define STORE(A, B, C, D, T, off) \
	VPSLLQ      $32, B, B       \
	VPSLLQ      $32, D, D       \
	VPBLENDD    $0xAA, B, A, A  \
	VPBLENDD    $0xAA, D, C, C  \
	VPUNPCKLQDQ C, A, B         \
	VPUNPCKHQDQ C, A, D         \
	VPERM2I128  $0x20, D, B, A  \
	VPERM2I128  $0x31, D, B, C  \
	VMOVDQU     A, off(DI)      \
	VMOVDQU     C, (off+32)(DI)

// BLOCKS computes and stores the blocks of Y0 to Y3 and Y6 to Y9; Y14 and Y15 hold the key.
#define BLOCKS \
	TWOROUNDS                      \
	NEXTKEY                        \
	TWOROUNDS                      \
	NEXTKEY                        \
	TWOROUNDS                      \
	NEXTKEY                        \
	TWOROUNDS                      \
	NEXTKEY                        \
	TWOROUNDS                      \
	STORE(Y0, Y1, Y2, Y3, Y4, 0)   \
	STORE(Y6, Y7, Y8, Y9, Y10, 64) \
	ADDQ $128, DI

// func runAsm(dst *uint64, n int, c0, c1, c2, c3, k0, k1 uint32)
TEXT ·runAsm(SB), NOSPLIT, $0-40
	MOVQ         dst+0(FP), DI
	MOVQ         n+8(FP), CX
	MOVL         c0+16(FP), AX
	VPBROADCASTD multipliers<>+0(SB), Y12
	VPBROADCASTD multipliers<>+4(SB), Y13
loop:
	VMOVD        AX, X6
	VPBROADCASTD X6, Y6
	VPADDD       places<>+0(SB), Y6, Y0
	VPADDD       places<>+32(SB), Y6, Y6
	VBROADCASTSS c1+20(FP), Y1
	VBROADCASTSS c2+24(FP), Y2
	VBROADCASTSS c3+28(FP), Y3
	VMOVDQA      Y1, Y7
	VMOVDQA      Y2, Y8
	VMOVDQA      Y3, Y9
	VBROADCASTSS k0+32(FP), Y14
	VBROADCASTSS k1+36(FP), Y15
	BLOCKS
	ADDL         $8, AX
	DECQ         CX
	JNE          loop
	VZEROUPPER
	RET

// func rowsAsm(dst *uint64, components *int, n int, c0, c2, c3, k0, k1 uint32)
TEXT ·rowsAsm(SB), NOSPLIT, $0-44
	MOVQ         dst+0(FP), DI
	MOVQ         components+8(FP), SI
	MOVQ         n+16(FP), CX
	VPBROADCASTD multipliers<>+0(SB), Y12
	VPBROADCASTD multipliers<>+4(SB), Y13
loop:
	VBROADCASTSS c0+24(FP), Y0
	VMOVDQU      (SI), Y1
	VMOVDQU      32(SI), Y7
	VBROADCASTSS c2+28(FP), Y2
	VBROADCASTSS c3+32(FP), Y3
	VMOVDQA      Y0, Y6
	VMOVDQA      Y2, Y8
	VMOVDQA      Y3, Y9
	VBROADCASTSS k0+36(FP), Y14
	VBROADCASTSS k1+40(FP), Y15
	BLOCKS
	ADDQ         $64, SI
	DECQ         CX
	JNE          loop
	VZEROUPPER
	RET
