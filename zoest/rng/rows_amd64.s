//go:build !purego

#include "textflag.h"

// Philox4x32-10 on sixteen counters at a time, with AVX-512, eight in each of two sets of registers; see philox_amd64.s.

DATA interleave<>+0(SB)/8, $0
DATA interleave<>+8(SB)/8, $8
DATA interleave<>+16(SB)/8, $1
DATA interleave<>+24(SB)/8, $9
DATA interleave<>+32(SB)/8, $2
DATA interleave<>+40(SB)/8, $10
DATA interleave<>+48(SB)/8, $3
DATA interleave<>+56(SB)/8, $11
DATA interleave<>+64(SB)/8, $4
DATA interleave<>+72(SB)/8, $12
DATA interleave<>+80(SB)/8, $5
DATA interleave<>+88(SB)/8, $13
DATA interleave<>+96(SB)/8, $6
DATA interleave<>+104(SB)/8, $14
DATA interleave<>+112(SB)/8, $7
DATA interleave<>+120(SB)/8, $15
GLOBL interleave<>(SB), RODATA|NOPTR, $128

DATA constants<>+0(SB)/4, $0xD2511F53
DATA constants<>+4(SB)/4, $0xCD9E8D57
DATA constants<>+8(SB)/4, $0x9E3779B9
DATA constants<>+12(SB)/4, $0xBB67AE85
GLOBL constants<>(SB), RODATA|NOPTR, $16

// EIGHT is a round of eight counters A, B, C, D. The next counters are A, T1, C and T0; B and D are free.
#define EIGHT(A, B, C, D, T0, T1) \
	VPMULUDQ   A, Z12, T0         \
	VPMULUDQ   C, Z13, T1         \
	VPSRLQ     $32, T1, A         \
	VPSRLQ     $32, T0, C         \
	VPTERNLOGD $0x96, Z14, B, A   \
	VPTERNLOGD $0x96, Z15, D, C

#define NEXTKEY \
	VPADDD Z16, Z14, Z14 \
	VPADDD Z17, Z15, Z15

#define TWOROUNDS \
	EIGHT(Z0, Z1, Z2, Z3, Z4, Z5)    \
	EIGHT(Z6, Z7, Z8, Z9, Z10, Z11)  \
	NEXTKEY                          \
	EIGHT(Z0, Z5, Z2, Z4, Z3, Z1)    \
	EIGHT(Z6, Z11, Z8, Z10, Z9, Z7)  \
	NEXTKEY

// STORE writes the blocks of eight counters, one for each pair of bits in AX.
#define STORE(A, B, C, D, off) \
	KMOVW     AX, K1            \
	SHRL      $8, AX            \
	KMOVW     AX, K2            \
	SHRL      $8, AX            \
	VPSLLQ    $32, B, B         \
	VPSLLQ    $32, D, D         \
	VMOVDQA32 B, K3, A          \
	VMOVDQA32 D, K3, C          \
	VMOVDQA64 Z18, B            \
	VMOVDQA64 Z19, D            \
	VPERMI2Q  C, A, B           \
	VPERMI2Q  C, A, D           \
	VMOVDQU64 B, K1, off(DI)    \
	VMOVDQU64 D, K2, (off+64)(DI)

// func rowsAVX512(dst *uint64, components *int, n int, c0, c2, c3, k0, k1 uint32)
TEXT ·rowsAVX512(SB), NOSPLIT, $0-44
	MOVQ         dst+0(FP), DI
	MOVQ         components+8(FP), SI
	MOVQ         n+16(FP), CX
	VPBROADCASTD constants<>+0(SB), Z12
	VPBROADCASTD constants<>+4(SB), Z13
	VPBROADCASTD constants<>+8(SB), Z16
	VPBROADCASTD constants<>+12(SB), Z17
	VMOVDQU64    interleave<>+0(SB), Z18
	VMOVDQU64    interleave<>+64(SB), Z19
	MOVL         $0xaaaa, AX
	KMOVW        AX, K3
	MOVL         $0xffff, BX
	MOVL         $-1, AX
loop:
	CMPQ         CX, $16
	JGE          full
	MOVL         $1, BX
	SHLL         CX, BX
	DECL         BX
	MOVL         $1, AX
	SHLL         CX, AX
	SHLL         CX, AX
	DECL         AX
full:
	KMOVW        BX, K1
	SHRL         $8, BX
	KMOVW        BX, K2
	VBROADCASTSS c0+24(FP), Z0
	VMOVDQU64.Z  (SI), K1, Z1
	VMOVDQU64.Z  64(SI), K2, Z7
	VBROADCASTSS c2+28(FP), Z2
	VBROADCASTSS c3+32(FP), Z3
	VMOVDQA64    Z0, Z6
	VMOVDQA64    Z2, Z8
	VMOVDQA64    Z3, Z9
	VBROADCASTSS k0+36(FP), Z14
	VBROADCASTSS k1+40(FP), Z15
	TWOROUNDS
	TWOROUNDS
	TWOROUNDS
	TWOROUNDS
	TWOROUNDS
	STORE(Z0, Z1, Z2, Z3, 0)
	STORE(Z6, Z7, Z8, Z9, 128)
	MOVL         $0xffff, BX
	MOVL         $-1, AX
	ADDQ         $256, DI
	ADDQ         $128, SI
	SUBQ         $16, CX
	JGT          loop
	VZEROUPPER
	RET
