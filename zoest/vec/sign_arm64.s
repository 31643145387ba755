//go:build !purego

#include "textflag.h"
#include "asm_arm64.h"

// The sign kernels.
//
// SIGNS converts bits to registers that hold a*s: sixteen bits are copied to every lane, each lane tests its own (V20
// to V23) and selects a (V30) or -a (V31). A kernel is a macro as in vec_arm64.s that finds its signed scalars in V4 to
// V7, its destination at R0 and its source, if any, at R1. R8 points at the next bits; the words of a sign vector are
// whole, so bits beyond the last element may be read.

#define SPREAD(T, S) \
	VCMTST T.S4, V16.S4, S.S4 \
	VBSL   V30.B16, V31.B16, S.B16

#define SIGNS(K) \
	MOVW  $0x80000000, R6                        \
	EORW  R5, R6, R6                             \
	VDUP  R5, V30.S4                             \
	VDUP  R6, V31.S4                             \
	MOVD  $bits<>(SB), R6                        \
	VLD1  (R6), [V20.S4, V21.S4, V22.S4, V23.S4] \
	SUBS  $16, R4                                \
	BLT   tail                                   \
loop:                                            \
	MOVHU.P 2(R8), R5                            \
	VDUP  R5, V16.S4                             \
	SPREAD(V20, V4)                              \
	SPREAD(V21, V5)                              \
	SPREAD(V22, V6)                              \
	SPREAD(V23, V7)                              \
	K(LD16, LDP16, ST16, OP16)                   \
	SUBS  $16, R4                                \
	BGE   loop                                   \
tail:                                            \
	ANDS  $15, R4                                \
	BEQ   done                                   \
	MOVHU (R8), R5                               \
	TBZ   $3, R4, tail4                          \
	VDUP  R5, V16.S4                             \
	SPREAD(V20, V4)                              \
	SPREAD(V21, V5)                              \
	K(LD8, LDP8, ST8, OP8)                       \
	LSR   $8, R5                                 \
tail4:                                           \
	VDUP  R5, V16.S4                             \
	SPREAD(V20, V4)                              \
	TBZ   $2, R4, tail2                          \
	K(LD4, LDP4, ST4, OP4)                       \
	LSR   $4, R5                                 \
	VDUP  R5, V16.S4                             \
	SPREAD(V20, V4)                              \
tail2:                                           \
	TBZ   $1, R4, tail1                          \
	K(LD2, LDP2, ST2, OP4)                       \
	VDUP  V4.D[1], V4.D2                         \
tail1:                                           \
	TBZ   $0, R4, done                           \
	K(LD1, LDP1, ST1, OP4)                       \
done:                                            \
	RET

DATA bits<>+0(SB)/8, $0x0000000200000001
DATA bits<>+8(SB)/8, $0x0000000800000004
DATA bits<>+16(SB)/8, $0x0000002000000010
DATA bits<>+24(SB)/8, $0x0000008000000040
DATA bits<>+32(SB)/8, $0x0000020000000100
DATA bits<>+40(SB)/8, $0x0000080000000400
DATA bits<>+48(SB)/8, $0x0000200000001000
DATA bits<>+56(SB)/8, $0x0000800000004000
GLOBL bits<>(SB), RODATA|NOPTR, $64

#define ADDSIGNED(i) \
	FADDV(4+i, i, i)

// y[i] = x[i] + mu*s[i]: y at R0, x at R1.
#define SIGNPERTURB(LD, LDP, ST, OP) \
	LDP(R1, V0, V1, V2, V3) \
	OP(ADDSIGNED)           \
	ST(R0, V0, V1, V2, V3)

// func signPerturb(y, x []float32, mu float32, signs []uint64)
TEXT ·signPerturb(SB), NOSPLIT, $0-80
	MOVD  y_base+0(FP), R0
	MOVD  y_len+8(FP), R4
	MOVD  x_base+24(FP), R1
	MOVWU mu+48(FP), R5
	MOVD  signs_base+56(FP), R8
	SIGNS(SIGNPERTURB)

// y[i] = x[i] + c[i]*s[i]: y at R0, x at R1, c at R2, and 1 for a.
#define SIGNADD(LD, LDP, ST, OP) \
	LDP(R1, V0, V1, V2, V3)   \
	LDP(R2, V8, V9, V10, V11) \
	OP(ADDPRODUCT)            \
	ST(R0, V0, V1, V2, V3)
#define ADDPRODUCT(i) \
	FMULV(8+i, 4+i, 12+i) \
	FADDV(12+i, i, i)

// func signAdd(y, x, c []float32, signs []uint64)
TEXT ·signAdd(SB), NOSPLIT, $0-96
	MOVD  y_base+0(FP), R0
	MOVD  y_len+8(FP), R4
	MOVD  x_base+24(FP), R1
	MOVD  c_base+48(FP), R2
	MOVD  signs_base+72(FP), R8
	MOVW  $0x3f800000, R5
	SIGNS(SIGNADD)

// y[i] = a*s[i]: y at R0.
#define SIGNSCALE(LD, LDP, ST, OP) \
	ST(R0, V4, V5, V6, V7)

// func signScale(y []float32, a float32, signs []uint64)
TEXT ·signScale(SB), NOSPLIT, $0-56
	MOVD  y_base+0(FP), R0
	MOVD  y_len+8(FP), R4
	MOVWU a+24(FP), R5
	MOVD  signs_base+32(FP), R8
	SIGNS(SIGNSCALE)

// q = c*s[i], diff = q - a[i], v[i] += diff*byB, abar[i] += diff*byM, a[i] = q: a at R0, v at R1, abar at R2, byB in V28, byM in
// V29.
#define SIGNREPLACE(LD, LDP, ST, OP) \
	LD(R0, V0, V1, V2, V3)     \
	LD(R1, V8, V9, V10, V11)   \
	LD(R2, V12, V13, V14, V15) \
	OP(SIGNREPLACEOP)          \
	ST(R0, V4, V5, V6, V7)     \
	ST(R1, V8, V9, V10, V11)   \
	ST(R2, V12, V13, V14, V15)
#define SIGNREPLACEOP(i) \
	FSUBV(i, 4+i, i)      \
	FMULV(28, i, 24+i)    \
	FMULV(29, i, i)       \
	FADDV(24+i, 8+i, 8+i) \
	FADDV(i, 12+i, 12+i)

// func signReplace(a, v, abar []float32, c float32, signs []uint64, byB, byM float32)
TEXT ·signReplace(SB), NOSPLIT, $0-112
	MOVD  a_base+0(FP), R0
	MOVD  a_len+8(FP), R4
	MOVD  v_base+24(FP), R1
	MOVD  abar_base+48(FP), R2
	MOVWU byB+104(FP), R5
	VDUP  R5, V28.S4
	MOVWU byM+108(FP), R5
	VDUP  R5, V29.S4
	MOVWU c+72(FP), R5
	MOVD  signs_base+80(FP), R8
	SIGNS(SIGNREPLACE)

// FLIPADD adds the elements of X, number x, to the lanes with the number acc, each with the sign of its bit T.
#define FLIPADD(T, X, x, acc) \
	VCMTST T.S4, V16.S4, V17.S4      \
	VAND  V30.B16, V17.B16, V17.B16  \
	VEOR  V17.B16, X.B16, X.B16      \
	FADDV(x, acc, acc)

// The sum of x[i]*s[i] over a block, in lanes added as in signFoldGo: the lanes in V0 to V15, x at R1, R4 elements of
// it. The last elements, fewer than 64, are copied to the frame, followed by zeros, which change no lane: none holds
// -0.

// func signFold(x []float32, signs []uint64) float32
TEXT ·signFold(SB), NOSPLIT, $256-52
	MOVD  x_base+0(FP), R1
	MOVD  x_len+8(FP), R4
	MOVD  signs_base+24(FP), R8
	MOVW  $0x80000000, R6
	VDUP  R6, V30.S4
	MOVD  $bits<>(SB), R6
	VLD1  (R6), [V20.S4, V21.S4, V22.S4, V23.S4]
	VEOR  V0.B16, V0.B16, V0.B16
	VEOR  V1.B16, V1.B16, V1.B16
	VEOR  V2.B16, V2.B16, V2.B16
	VEOR  V3.B16, V3.B16, V3.B16
	VEOR  V4.B16, V4.B16, V4.B16
	VEOR  V5.B16, V5.B16, V5.B16
	VEOR  V6.B16, V6.B16, V6.B16
	VEOR  V7.B16, V7.B16, V7.B16
	VEOR  V8.B16, V8.B16, V8.B16
	VEOR  V9.B16, V9.B16, V9.B16
	VEOR  V10.B16, V10.B16, V10.B16
	VEOR  V11.B16, V11.B16, V11.B16
	VEOR  V12.B16, V12.B16, V12.B16
	VEOR  V13.B16, V13.B16, V13.B16
	VEOR  V14.B16, V14.B16, V14.B16
	VEOR  V15.B16, V15.B16, V15.B16
	SUBS  $64, R4
	BLT   tail
loop:
	MOVHU.P 2(R8), R5
	VDUP  R5, V16.S4
	VLD1.P 64(R1), [V24.S4, V25.S4, V26.S4, V27.S4]
	FLIPADD(V20, V24, 24, 0)
	FLIPADD(V21, V25, 25, 1)
	FLIPADD(V22, V26, 26, 2)
	FLIPADD(V23, V27, 27, 3)
	MOVHU.P 2(R8), R5
	VDUP  R5, V16.S4
	VLD1.P 64(R1), [V24.S4, V25.S4, V26.S4, V27.S4]
	FLIPADD(V20, V24, 24, 4)
	FLIPADD(V21, V25, 25, 5)
	FLIPADD(V22, V26, 26, 6)
	FLIPADD(V23, V27, 27, 7)
	MOVHU.P 2(R8), R5
	VDUP  R5, V16.S4
	VLD1.P 64(R1), [V24.S4, V25.S4, V26.S4, V27.S4]
	FLIPADD(V20, V24, 24, 8)
	FLIPADD(V21, V25, 25, 9)
	FLIPADD(V22, V26, 26, 10)
	FLIPADD(V23, V27, 27, 11)
	MOVHU.P 2(R8), R5
	VDUP  R5, V16.S4
	VLD1.P 64(R1), [V24.S4, V25.S4, V26.S4, V27.S4]
	FLIPADD(V20, V24, 24, 12)
	FLIPADD(V21, V25, 25, 13)
	FLIPADD(V22, V26, 26, 14)
	FLIPADD(V23, V27, 27, 15)
	SUBS  $64, R4
	BGE   loop
tail:
	ANDS  $63, R4
	BEQ   fold
	MOVD  $room-256(SP), R0
	MOVD  R0, R7
	VEOR  V24.B16, V24.B16, V24.B16
	VEOR  V25.B16, V25.B16, V25.B16
	VEOR  V26.B16, V26.B16, V26.B16
	VEOR  V27.B16, V27.B16, V27.B16
	VST1.P [V24.S4, V25.S4, V26.S4, V27.S4], 64(R7)
	VST1.P [V24.S4, V25.S4, V26.S4, V27.S4], 64(R7)
	VST1.P [V24.S4, V25.S4, V26.S4, V27.S4], 64(R7)
	VST1  [V24.S4, V25.S4, V26.S4, V27.S4], (R7)
	MOVD  R0, R7
copy:
	MOVWU.P 4(R1), R5
	MOVW.P  R5, 4(R7)
	SUBS  $1, R4
	BNE   copy
	MOVD  R0, R1
	B     loop // after which R4 is -64: no tail
fold:
	FADDV(8, 0, 0)
	FADDV(9, 1, 1)
	FADDV(10, 2, 2)
	FADDV(11, 3, 3)
	FADDV(12, 4, 4)
	FADDV(13, 5, 5)
	FADDV(14, 6, 6)
	FADDV(15, 7, 7)
	FADDV(4, 0, 0)
	FADDV(5, 1, 1)
	FADDV(6, 2, 2)
	FADDV(7, 3, 3)
	FADDV(2, 0, 0)
	FADDV(3, 1, 1)
	FADDV(1, 0, 0)
	VDUP  V0.D[1], V1.D2
	FADDV(1, 0, 0)
	VDUP  V0.S[1], V1.S4
	FADDS F1, F0, F0
	FMOVS F0, ret+48(FP)
	RET
