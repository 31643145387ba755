//go:build !purego

#include "textflag.h"
#include "asm_amd64.h"

// The sign kernels.
//
// The skeletons below convert bits to registers that hold a*s, and a kernel is a macro K(off, S, T, U) that uses one: S
// has the signed scalars for the elements at byte offset off from the pointers and must be preserved; T and U are free.
// KS(MOV) is the same for the two elements (VMOVSD) or the one (VMOVSS) at the pointers, with S in X2, and X1, X3 and
// X15 free. R8 points at the next bits. The elements after the last 16 (or 8) are processed in steps of 8, 4, 2 and 1
// with one register of signs that is shifted down by as many; the words of a sign vector are whole, so its bits may be
// read beyond the last element.

// With AVX-512 sixteen bits are a mask that selects a (Z0) or -a (Z1).
#define SIGNS512(K, KS, ADV) \
	VPTERNLOGD $0xff, Z1, Z1, Z1 \
	VPSLLD     $31, Z1, Z1       \
	VPXORD     Z0, Z1, Z1        \
	SUBQ       $64, CX           \
	JLT        tail              \
loop:                         \
	KMOVW      (R8), K1          \
	KMOVW      2(R8), K2         \
	KMOVW      4(R8), K3         \
	KMOVW      6(R8), K4         \
	VBLENDMPS  Z1, Z0, K1, Z2    \
	VBLENDMPS  Z1, Z0, K2, Z4    \
	VBLENDMPS  Z1, Z0, K3, Z6    \
	VBLENDMPS  Z1, Z0, K4, Z8    \
	K(0, Z2, Z3, Z15)            \
	K(64, Z4, Z5, Z15)           \
	K(128, Z6, Z7, Z15)          \
	K(192, Z8, Z9, Z15)          \
	ADDQ       $8, R8            \
	ADV(256)                     \
	SUBQ       $64, CX           \
	JGE        loop              \
tail:                         \
	TESTL      $32, CX           \
	JEQ        tail16            \
	KMOVW      (R8), K1          \
	KMOVW      2(R8), K2         \
	VBLENDMPS  Z1, Z0, K1, Z2    \
	VBLENDMPS  Z1, Z0, K2, Z4    \
	K(0, Z2, Z3, Z15)            \
	K(64, Z4, Z5, Z15)           \
	ADDQ       $4, R8            \
	ADV(128)                     \
tail16:                       \
	TESTL      $16, CX           \
	JEQ        tail8             \
	KMOVW      (R8), K1          \
	VBLENDMPS  Z1, Z0, K1, Z2    \
	K(0, Z2, Z3, Z15)            \
	ADDQ       $2, R8            \
	ADV(64)                      \
tail8:                        \
	TESTL      $15, CX           \
	JEQ        done              \
	KMOVW      (R8), K1          \
	VBLENDMPS  Z1, Z0, K1, Z2    \
	TESTL      $8, CX            \
	JEQ        tail4             \
	K(0, Y2, Y3, Y15)            \
	VEXTRACTF64X4 $1, Z2, Y2     \
	ADV(32)                      \
	FINISH(K, KS, ADV)

// With AVX2 thirty-two bits are copied to all eight lanes, and each lane shifts its own bit up to the sign position of
// a float: lane l by 31-l, 23-l, 15-l or 7-l (Y10 to Y13). Y14 masks off the rest.
#define SIGNS256(K, KS, ADV) \
	VMOVDQU      shifts<>+0(SB), Y10  \
	VPCMPEQD     Y14, Y14, Y14        \
	VPSLLD       $31, Y14, Y14        \
	SUBQ         $32, CX              \
	JLT          tail                 \
	VMOVDQU      shifts<>+32(SB), Y11 \
	VMOVDQU      shifts<>+64(SB), Y12 \
	VMOVDQU      shifts<>+96(SB), Y13 \
loop:                              \
	VPBROADCASTD (R8), Y1             \
	VPSLLVD      Y10, Y1, Y2          \
	VPSLLVD      Y11, Y1, Y4          \
	VPSLLVD      Y12, Y1, Y6          \
	VPSLLVD      Y13, Y1, Y8          \
	VPAND        Y14, Y2, Y2          \
	VPAND        Y14, Y4, Y4          \
	VPAND        Y14, Y6, Y6          \
	VPAND        Y14, Y8, Y8          \
	VPXOR        Y0, Y2, Y2           \
	VPXOR        Y0, Y4, Y4           \
	VPXOR        Y0, Y6, Y6           \
	VPXOR        Y0, Y8, Y8           \
	K(0, Y2, Y3, Y15)                 \
	K(32, Y4, Y5, Y15)                \
	K(64, Y6, Y7, Y15)                \
	K(96, Y8, Y9, Y15)                \
	ADDQ         $4, R8               \
	ADV(128)                          \
	SUBQ         $32, CX              \
	JGE          loop                 \
tail:                              \
	ANDL         $31, CX              \
	JEQ          done                 \
	VPBROADCASTD (R8), Y1             \
tail8:                             \
	VPSLLVD      Y10, Y1, Y2          \
	VPSRLD       $8, Y1, Y1           \
	VPAND        Y14, Y2, Y2          \
	VPXOR        Y0, Y2, Y2           \
	CMPL         CX, $8               \
	JLT          tail4                \
	K(0, Y2, Y3, Y15)                 \
	ADV(32)                           \
	SUBL         $8, CX               \
	JNE          tail8                \
	JMP          done                 \
	FINISH(K, KS, ADV)

// FINISH processes the last CX mod 8 elements, whose signed scalars are in Y2, and returns.
#define FINISH(K, KS, ADV) \
tail4:                   \
	TESTL        $4, CX     \
	JEQ          tail2      \
	K(0, X2, X3, X15)       \
	VEXTRACTF128 $1, Y2, X2 \
	ADV(16)                 \
tail2:                   \
	TESTL        $2, CX     \
	JEQ          tail1      \
	KS(VMOVSD)              \
	VMOVHLPS     X2, X2, X2 \
	ADV(8)                  \
tail1:                   \
	TESTL        $1, CX     \
	JEQ          done       \
	KS(VMOVSS)              \
done:                    \
	VZEROUPPER              \
	RET

DATA shifts<>+0(SB)/8, $0x0000001e0000001f
DATA shifts<>+8(SB)/8, $0x0000001c0000001d
DATA shifts<>+16(SB)/8, $0x0000001a0000001b
DATA shifts<>+24(SB)/8, $0x0000001800000019
DATA shifts<>+32(SB)/8, $0x0000001600000017
DATA shifts<>+40(SB)/8, $0x0000001400000015
DATA shifts<>+48(SB)/8, $0x0000001200000013
DATA shifts<>+56(SB)/8, $0x0000001000000011
DATA shifts<>+64(SB)/8, $0x0000000e0000000f
DATA shifts<>+72(SB)/8, $0x0000000c0000000d
DATA shifts<>+80(SB)/8, $0x0000000a0000000b
DATA shifts<>+88(SB)/8, $0x0000000800000009
DATA shifts<>+96(SB)/8, $0x0000000600000007
DATA shifts<>+104(SB)/8, $0x0000000400000005
DATA shifts<>+112(SB)/8, $0x0000000200000003
DATA shifts<>+120(SB)/8, $0x0000000000000001
GLOBL shifts<>(SB), RODATA|NOPTR, $128

// y[i] = x[i] + mu*s[i]: y in DI, x in SI.
#define SIGNPERTURB(off, S, T, U) \
	VADDPS  off(SI), S, T \
	VMOVUPS T, off(DI)

#define SIGNPERTURBS(MOV) \
	MOV    (SI), X3   \
	VADDPS X2, X3, X3 \
	MOV    X3, (DI)

// func signPerturb(y, x []float32, mu float32, signs []uint64)
TEXT ·signPerturb(SB), NOSPLIT, $0-80
	DISPATCH(·signPerturbAVX512, ·signPerturbAVX2, ·signPerturbGo)

// func signPerturbAVX512(y, x []float32, mu float32, signs []uint64)
TEXT ·signPerturbAVX512(SB), NOSPLIT, $0-80
	MOVQ         y_base+0(FP), DI
	MOVQ         y_len+8(FP), CX
	MOVQ         x_base+24(FP), SI
	VBROADCASTSS mu+48(FP), Z0
	MOVQ         signs_base+56(FP), R8
	SIGNS512(SIGNPERTURB, SIGNPERTURBS, ADVANCE2)

// func signPerturbAVX2(y, x []float32, mu float32, signs []uint64)
TEXT ·signPerturbAVX2(SB), NOSPLIT, $0-80
	MOVQ         y_base+0(FP), DI
	MOVQ         y_len+8(FP), CX
	MOVQ         x_base+24(FP), SI
	VBROADCASTSS mu+48(FP), Y0
	MOVQ         signs_base+56(FP), R8
	SIGNS256(SIGNPERTURB, SIGNPERTURBS, ADVANCE2)

// y[i] = x[i] + c[i]*s[i]: y in DI, x in SI, c in DX, and 1 for a.
#define SIGNADD(off, S, T, U) \
	VMULPS  off(DX), S, T \
	VADDPS  off(SI), T, T \
	VMOVUPS T, off(DI)

#define SIGNADDS(MOV) \
	MOV    (DX), X1   \
	MOV    (SI), X3   \
	VMULPS X2, X1, X1 \
	VADDPS X1, X3, X3 \
	MOV    X3, (DI)

// func signAdd(y, x, c []float32, signs []uint64)
TEXT ·signAdd(SB), NOSPLIT, $0-96
	DISPATCH(·signAddAVX512, ·signAddAVX2, ·signAddGo)

// func signAddAVX512(y, x, c []float32, signs []uint64)
TEXT ·signAddAVX512(SB), NOSPLIT, $0-96
	MOVQ         y_base+0(FP), DI
	MOVQ         y_len+8(FP), CX
	MOVQ         x_base+24(FP), SI
	MOVQ         c_base+48(FP), DX
	MOVQ         signs_base+72(FP), R8
	MOVL         $0x3f800000, AX
	VMOVD        AX, X0
	VBROADCASTSS X0, Z0
	SIGNS512(SIGNADD, SIGNADDS, ADVANCE3)

// func signAddAVX2(y, x, c []float32, signs []uint64)
TEXT ·signAddAVX2(SB), NOSPLIT, $0-96
	MOVQ         y_base+0(FP), DI
	MOVQ         y_len+8(FP), CX
	MOVQ         x_base+24(FP), SI
	MOVQ         c_base+48(FP), DX
	MOVQ         signs_base+72(FP), R8
	MOVL         $0x3f800000, AX
	VMOVD        AX, X0
	VBROADCASTSS X0, Y0
	SIGNS256(SIGNADD, SIGNADDS, ADVANCE3)

// y[i] = a*s[i]: y in DI.
#define SIGNSCALE(off, S, T, U) \
	VMOVUPS S, off(DI)

#define SIGNSCALES(MOV) \
	MOV X2, (DI)

// func signScale(y []float32, a float32, signs []uint64)
TEXT ·signScale(SB), NOSPLIT, $0-56
	DISPATCH(·signScaleAVX512, ·signScaleAVX2, ·signScaleGo)

// func signScaleAVX512(y []float32, a float32, signs []uint64)
TEXT ·signScaleAVX512(SB), NOSPLIT, $0-56
	MOVQ         y_base+0(FP), DI
	MOVQ         y_len+8(FP), CX
	VBROADCASTSS a+24(FP), Z0
	MOVQ         signs_base+32(FP), R8
	SIGNS512(SIGNSCALE, SIGNSCALES, ADVANCE1)

// func signScaleAVX2(y []float32, a float32, signs []uint64)
TEXT ·signScaleAVX2(SB), NOSPLIT, $0-56
	MOVQ         y_base+0(FP), DI
	MOVQ         y_len+8(FP), CX
	VBROADCASTSS a+24(FP), Y0
	MOVQ         signs_base+32(FP), R8
	SIGNS256(SIGNSCALE, SIGNSCALES, ADVANCE1)

// q = c*s[i], diff = q - a[i], v[i] += diff*byB, abar[i] += diff*byM, a[i] = q: a in DI, v in SI, abar in DX, byB and
// byM at R9.
#define SIGNREPLACE(off, S, T, U) \
	VSUBPS       off(DI), S, T \
	VMOVUPS      S, off(DI)    \
	VBROADCASTSS (R9), U       \
	VMULPS       T, U, U       \
	VADDPS       off(SI), U, U \
	VMOVUPS      U, off(SI)    \
	VBROADCASTSS 4(R9), U      \
	VMULPS       T, U, U       \
	VADDPS       off(DX), U, U \
	VMOVUPS      U, off(DX)

#define SIGNREPLACES(MOV) \
	MOV          (DI), X3     \
	VSUBPS       X3, X2, X3   \
	MOV          X2, (DI)     \
	VBROADCASTSS (R9), X15    \
	VMULPS       X3, X15, X15 \
	MOV          (SI), X1     \
	VADDPS       X1, X15, X1  \
	MOV          X1, (SI)     \
	VBROADCASTSS 4(R9), X15   \
	VMULPS       X3, X15, X15 \
	MOV          (DX), X1     \
	VADDPS       X1, X15, X1  \
	MOV          X1, (DX)

// func signReplace(a, v, abar []float32, c float32, signs []uint64, byB, byM float32)
TEXT ·signReplace(SB), NOSPLIT, $0-112
	DISPATCH(·signReplaceAVX512, ·signReplaceAVX2, ·signReplaceGo)

// func signReplaceAVX512(a, v, abar []float32, c float32, signs []uint64, byB, byM float32)
TEXT ·signReplaceAVX512(SB), NOSPLIT, $0-112
	MOVQ         a_base+0(FP), DI
	MOVQ         a_len+8(FP), CX
	MOVQ         v_base+24(FP), SI
	MOVQ         abar_base+48(FP), DX
	VBROADCASTSS c+72(FP), Z0
	MOVQ         signs_base+80(FP), R8
	LEAQ         byB+104(FP), R9
	SIGNS512(SIGNREPLACE, SIGNREPLACES, ADVANCE3)

// func signReplaceAVX2(a, v, abar []float32, c float32, signs []uint64, byB, byM float32)
TEXT ·signReplaceAVX2(SB), NOSPLIT, $0-112
	MOVQ         a_base+0(FP), DI
	MOVQ         a_len+8(FP), CX
	MOVQ         v_base+24(FP), SI
	MOVQ         abar_base+48(FP), DX
	VBROADCASTSS c+72(FP), Y0
	MOVQ         signs_base+80(FP), R8
	LEAQ         byB+104(FP), R9
	SIGNS256(SIGNREPLACE, SIGNREPLACES, ADVANCE3)

// The sum of x[i]*s[i] over a block, in lanes added as in signFoldGo: x in SI, its CX elements, signs at R8. All lanes
// are in registers, Z0 to Z3 or Y0 to Y7. After the last element there are zeros of either sign, which change no lane:
// none holds -0.

// func signFold(x []float32, signs []uint64) float32
TEXT ·signFold(SB), NOSPLIT, $0-52
	DISPATCH(·signFoldAVX512, ·signFoldAVX2, ·signFoldGo)

// SIGNFOLD folds the sixteen lanes of Y0 and Y1.
#define SIGNFOLD \
	VADDPS       Y1, Y0, Y0 \
	VEXTRACTF128 $1, Y0, X1 \
	VADDPS       X1, X0, X0 \
	VMOVHLPS     X0, X0, X1 \
	VADDPS       X1, X0, X0 \
	VMOVSHDUP    X0, X1     \
	VADDSS       X1, X0, X0

#define SIGNSUM512(off, bits, ACC) \
	KMOVW   bits(R8), K1       \
	VMOVUPS off(SI), Z4        \
	VPXORD  Z5, Z4, K1, Z4     \
	VADDPS  Z4, ACC, ACC

// SIGNLAST512 processes the elements whose bits are set in AX.
#define SIGNLAST512(off, bits, ACC) \
	KMOVW     AX, K2           \
	KMOVW     bits(R8), K1     \
	VMOVUPS.Z off(SI), K2, Z4  \
	VPXORD    Z5, Z4, K1, Z4   \
	VADDPS    Z4, ACC, ACC     \
	SHRQ      $16, AX          \
	JEQ       fold

// func signFoldAVX512(x []float32, signs []uint64) float32
TEXT ·signFoldAVX512(SB), NOSPLIT, $0-52
	MOVQ       x_base+0(FP), SI
	MOVQ       x_len+8(FP), CX
	MOVQ       signs_base+24(FP), R8
	VPTERNLOGD $0xff, Z5, Z5, Z5
	VPSLLD     $31, Z5, Z5
	VPXORD     Z0, Z0, Z0
	VPXORD     Z1, Z1, Z1
	VPXORD     Z2, Z2, Z2
	VPXORD     Z3, Z3, Z3
	SUBQ       $64, CX
	JLT        tail
loop:
	SIGNSUM512(0, 0, Z0)
	SIGNSUM512(64, 2, Z1)
	SIGNSUM512(128, 4, Z2)
	SIGNSUM512(192, 6, Z3)
	ADDQ       $8, R8
	ADDQ       $256, SI
	SUBQ       $64, CX
	JGE        loop
tail:
	ANDL       $63, CX
	JEQ        fold
	MOVQ       $-1, AX
	SHLQ       CX, AX
	NOTQ       AX
	SIGNLAST512(0, 0, Z0)
	SIGNLAST512(64, 2, Z1)
	SIGNLAST512(128, 4, Z2)
	SIGNLAST512(192, 6, Z3)
fold:
	VADDPS     Z2, Z0, Z0
	VADDPS     Z3, Z1, Z1
	VADDPS     Z1, Z0, Z0
	VEXTRACTF64X4 $1, Z0, Y1
	SIGNFOLD
	VMOVSS     X0, ret+48(FP)
	VZEROUPPER
	RET

#define SIGNSUM256(off, SHIFTS, ACC) \
	VPSLLVD SHIFTS, Y8, Y9     \
	VPAND   Y14, Y9, Y9        \
	VXORPS  off(SI), Y9, Y9    \
	VADDPS  Y9, ACC, ACC

// SIGNLAST256 processes the elements where Y15, initially their positions minus CX, is negative.
#define SIGNLAST256(off, shift, ACC) \
	VPSLLVD    shifts<>+shift(SB), Y8, Y9  \
	VPAND      Y14, Y9, Y9                 \
	VMASKMOVPS off(SI), Y15, Y10           \
	VXORPS     Y10, Y9, Y9                 \
	VADDPS     Y9, ACC, ACC                \
	VPADDD     places<>+32(SB), Y15, Y15   \
	SUBL       $8, CX                      \
	JLE        fold

// func signFoldAVX2(x []float32, signs []uint64) float32
TEXT ·signFoldAVX2(SB), NOSPLIT, $0-52
	MOVQ         x_base+0(FP), SI
	MOVQ         x_len+8(FP), CX
	MOVQ         signs_base+24(FP), R8
	VMOVDQU      shifts<>+0(SB), Y10
	VMOVDQU      shifts<>+32(SB), Y11
	VMOVDQU      shifts<>+64(SB), Y12
	VMOVDQU      shifts<>+96(SB), Y13
	VPCMPEQD     Y14, Y14, Y14
	VPSLLD       $31, Y14, Y14
	VXORPS       Y0, Y0, Y0
	VXORPS       Y1, Y1, Y1
	VXORPS       Y2, Y2, Y2
	VXORPS       Y3, Y3, Y3
	VXORPS       Y4, Y4, Y4
	VXORPS       Y5, Y5, Y5
	VXORPS       Y6, Y6, Y6
	VXORPS       Y7, Y7, Y7
	SUBQ         $64, CX
	JLT          tail
loop:
	VPBROADCASTD (R8), Y8
	SIGNSUM256(0, Y10, Y0)
	SIGNSUM256(32, Y11, Y1)
	SIGNSUM256(64, Y12, Y2)
	SIGNSUM256(96, Y13, Y3)
	VPBROADCASTD 4(R8), Y8
	SIGNSUM256(128, Y10, Y4)
	SIGNSUM256(160, Y11, Y5)
	SIGNSUM256(192, Y12, Y6)
	SIGNSUM256(224, Y13, Y7)
	ADDQ         $8, R8
	ADDQ         $256, SI
	SUBQ         $64, CX
	JGE          loop
tail:
	ANDL         $63, CX
	JEQ          fold
	VMOVD        CX, X9
	VPBROADCASTD X9, Y9
	VMOVDQU      places<>+0(SB), Y15
	VPSUBD       Y9, Y15, Y15
	VPBROADCASTD (R8), Y8
	SIGNLAST256(0, 0, Y0)
	SIGNLAST256(32, 32, Y1)
	SIGNLAST256(64, 64, Y2)
	SIGNLAST256(96, 96, Y3)
	VPBROADCASTD 4(R8), Y8
	SIGNLAST256(128, 0, Y4)
	SIGNLAST256(160, 32, Y5)
	SIGNLAST256(192, 64, Y6)
	SIGNLAST256(224, 96, Y7)
fold:
	VADDPS       Y4, Y0, Y0
	VADDPS       Y5, Y1, Y1
	VADDPS       Y6, Y2, Y2
	VADDPS       Y7, Y3, Y3
	VADDPS       Y2, Y0, Y0
	VADDPS       Y3, Y1, Y1
	SIGNFOLD
	VMOVSS       X0, ret+48(FP)
	VZEROUPPER
	RET

DATA places<>+0(SB)/8, $0x0000000100000000
DATA places<>+8(SB)/8, $0x0000000300000002
DATA places<>+16(SB)/8, $0x0000000500000004
DATA places<>+24(SB)/8, $0x0000000700000006
DATA places<>+32(SB)/8, $0x0000000800000008
DATA places<>+40(SB)/8, $0x0000000800000008
DATA places<>+48(SB)/8, $0x0000000800000008
DATA places<>+56(SB)/8, $0x0000000800000008
GLOBL places<>(SB), RODATA|NOPTR, $64
