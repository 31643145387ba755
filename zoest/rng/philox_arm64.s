//go:build !purego

#include "textflag.h"

// Philox4x32-10 on eight counters at a time, four in each of two sets of registers: a register holds one word of four
// counters.

// Go's assembler lacks these instructions: four products of the lower, or upper, halves of registers n and m to
// register d.
#define UMULL(m, n, d) WORD $(0x2EA0C000 | (m)<<16 | (n)<<5 | (d))
#define UMULL2(m, n, d) WORD $(0x6EA0C000 | (m)<<16 | (n)<<5 | (d))

// ROUND is a round of the four counters in registers a to a+3 with the multipliers in V16 and V17 and the round's key in V18
// and V19. V24 to V27 are free.
#define ROUND(a, A, B, C, D) \
	UMULL(16, a, 24)                  \
	UMULL2(16, a, 25)                 \
	UMULL(17, a+2, 26)                \
	UMULL2(17, a+2, 27)               \
	VUZP2 V27.S4, V26.S4, A.S4        \
	VUZP2 V25.S4, V24.S4, C.S4        \
	VEOR  B.B16, A.B16, A.B16         \
	VEOR  D.B16, C.B16, C.B16         \
	VEOR  V18.B16, A.B16, A.B16       \
	VEOR  V19.B16, C.B16, C.B16       \
	VUZP1 V27.S4, V26.S4, B.S4        \
	VUZP1 V25.S4, V24.S4, D.S4

#define ROUNDS \
	ROUND(0, V0, V1, V2, V3) \
	ROUND(4, V4, V5, V6, V7)

#define NEXTKEY \
	VADD V20.S4, V18.S4, V18.S4 \
	VADD V21.S4, V19.S4, V19.S4

// BLOCKS computes the blocks of V0 to V3 and V4 to V7 and stores them at R0. V22 and V23 hold the key.
#define BLOCKS \
	VMOV V22.B16, V18.B16 \
	VMOV V23.B16, V19.B16 \
	ROUNDS                \
	NEXTKEY               \
	ROUNDS                \
	NEXTKEY               \
	ROUNDS                \
	NEXTKEY               \
	ROUNDS                \
	NEXTKEY               \
	ROUNDS                \
	NEXTKEY               \
	ROUNDS                \
	NEXTKEY               \
	ROUNDS                \
	NEXTKEY               \
	ROUNDS                \
	NEXTKEY               \
	ROUNDS                \
	NEXTKEY               \
	ROUNDS                \
	VST4.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0) \
	VST4.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)

// CONSTANTS loads the multipliers and the steps of the key.
#define CONSTANTS \
	MOVD $0xD2511F53, R5 \
	VDUP R5, V16.S4      \
	MOVD $0xCD9E8D57, R5 \
	VDUP R5, V17.S4      \
	MOVD $0x9E3779B9, R5 \
	VDUP R5, V20.S4      \
	MOVD $0xBB67AE85, R5 \
	VDUP R5, V21.S4

DATA places<>+0(SB)/8, $0x0000000100000000
DATA places<>+8(SB)/8, $0x0000000300000002
DATA places<>+16(SB)/8, $0x0000000500000004
DATA places<>+24(SB)/8, $0x0000000700000006
GLOBL places<>(SB), RODATA|NOPTR, $32

// func runAsm(dst *uint64, n int, c0, c1, c2, c3, k0, k1 uint32)
TEXT ·runAsm(SB), NOSPLIT, $0-40
	MOVD  dst+0(FP), R0
	MOVD  n+8(FP), R2
	MOVWU c0+16(FP), R6
	MOVWU c1+20(FP), R7
	MOVWU c2+24(FP), R8
	MOVWU c3+28(FP), R9
	MOVWU k0+32(FP), R3
	MOVWU k1+36(FP), R4
	VDUP  R3, V22.S4
	VDUP  R4, V23.S4
	CONSTANTS
	MOVD  $places<>(SB), R5
	VLD1  (R5), [V28.S4, V29.S4]
loop:
	VDUP  R6, V4.S4
	VADD  V28.S4, V4.S4, V0.S4
	VADD  V29.S4, V4.S4, V4.S4
	VDUP  R7, V1.S4
	VDUP  R7, V5.S4
	VDUP  R8, V2.S4
	VDUP  R8, V6.S4
	VDUP  R9, V3.S4
	VDUP  R9, V7.S4
	BLOCKS
	ADDW  $8, R6
	SUBS  $1, R2
	BNE   loop
	RET

// func rowsAsm(dst *uint64, components *int, n int, c0, c2, c3, k0, k1 uint32)
TEXT ·rowsAsm(SB), NOSPLIT, $0-44
	MOVD  dst+0(FP), R0
	MOVD  components+8(FP), R1
	MOVD  n+16(FP), R2
	MOVWU c0+24(FP), R6
	MOVWU c2+28(FP), R8
	MOVWU c3+32(FP), R9
	MOVWU k0+36(FP), R3
	MOVWU k1+40(FP), R4
	VDUP  R3, V22.S4
	VDUP  R4, V23.S4
	CONSTANTS
loop:
	VLD1.P 64(R1), [V24.D2, V25.D2, V26.D2, V27.D2]
	VUZP1 V25.S4, V24.S4, V1.S4
	VUZP1 V27.S4, V26.S4, V5.S4
	VDUP  R6, V0.S4
	VDUP  R6, V4.S4
	VDUP  R8, V2.S4
	VDUP  R8, V6.S4
	VDUP  R9, V3.S4
	VDUP  R9, V7.S4
	BLOCKS
	SUBS  $1, R2
	BNE   loop
	RET
