//go:build !purego

#include "textflag.h"
#include "asm_amd64.h"

// The elementwise kernels.
//
// A kernel is a macro K(off, A, B, T, U, V) that processes one register of elements at byte offset off from its
// pointers: A and B hold its scalars in every lane, T, U and V are free. KS(MOV) is the same for the two elements (MOV
// is VMOVSD) or the one (VMOVSS) at the pointers, in X0 to X4. ADV(bytes) advances the pointers. A product is rounded
// by its own instruction; there is no fused multiply-add in this file.
//
// EACH512 and EACH256 apply a kernel to CX elements: four registers per iteration, then the rest in steps of 32, 16, 8,
// 4, 2 and 1. A masked tail would be shorter but slower: a store through a mask does not forward to the next load.
// Where the destination is also a source, each element is read before it is written.

#define EACH512(K, KS, ADV) \
	SUBQ $64, CX                  \
	JLT  tail                     \
loop:                             \
	K(0, Z0, Z1, Z2, Z3, Z4)      \
	K(64, Z0, Z1, Z5, Z6, Z7)     \
	K(128, Z0, Z1, Z8, Z9, Z10)   \
	K(192, Z0, Z1, Z11, Z12, Z13) \
	ADV(256)                      \
	SUBQ $64, CX                  \
	JGE  loop                     \
tail:                             \
	TESTL $32, CX                 \
	JEQ  tail16                   \
	K(0, Z0, Z1, Z2, Z3, Z4)      \
	K(64, Z0, Z1, Z5, Z6, Z7)     \
	ADV(128)                      \
tail16:                           \
	TESTL $16, CX                 \
	JEQ  tail8                    \
	K(0, Z0, Z1, Z2, Z3, Z4)      \
	ADV(64)                       \
	FINISH(K, KS, ADV)

#define EACH256(K, KS, ADV) \
	SUBQ $32, CX                 \
	JLT  tail                    \
loop:                            \
	K(0, Y0, Y1, Y2, Y3, Y4)     \
	K(32, Y0, Y1, Y5, Y6, Y7)    \
	K(64, Y0, Y1, Y8, Y9, Y10)   \
	K(96, Y0, Y1, Y11, Y12, Y13) \
	ADV(128)                     \
	SUBQ $32, CX                 \
	JGE  loop                    \
tail:                            \
	TESTL $16, CX                \
	JEQ  tail8                   \
	K(0, Y0, Y1, Y2, Y3, Y4)     \
	K(32, Y0, Y1, Y5, Y6, Y7)    \
	ADV(64)                      \
	FINISH(K, KS, ADV)

// FINISH processes the last CX mod 16 elements and returns.
#define FINISH(K, KS, ADV) \
tail8:                       \
	TESTL $8, CX             \
	JEQ  tail4               \
	K(0, Y0, Y1, Y2, Y3, Y4) \
	ADV(32)                  \
tail4:                       \
	TESTL $4, CX             \
	JEQ  tail2               \
	K(0, X0, X1, X2, X3, X4) \
	ADV(16)                  \
tail2:                       \
	TESTL $2, CX             \
	JEQ  tail1               \
	KS(VMOVSD)               \
	ADV(8)                   \
tail1:                       \
	TESTL $1, CX             \
	JEQ  done                \
	KS(VMOVSS)               \
done:                        \
	VZEROUPPER               \
	RET

// y[i] += a*x[i]: y in DI, x in SI, a in A.
#define AXPY(off, A, B, T, U, V) \
	VMULPS  off(SI), A, T \
	VADDPS  off(DI), T, T \
	VMOVUPS T, off(DI)

#define AXPYS(MOV) \
	MOV    (SI), X2   \
	MOV    (DI), X3   \
	VMULPS X0, X2, X2 \
	VADDPS X2, X3, X3 \
	MOV    X3, (DI)

// func axpy(y []float32, a float32, x []float32)
TEXT ·axpy(SB), NOSPLIT, $0-56
	LONG(y_len+8(FP), ·axpyAVX2)
	DISPATCH(·axpyAVX512, ·axpyAVX2, ·axpyGo)

// func axpyAVX512(y []float32, a float32, x []float32)
TEXT ·axpyAVX512(SB), NOSPLIT, $0-56
	MOVQ         y_base+0(FP), DI
	MOVQ         y_len+8(FP), CX
	VBROADCASTSS a+24(FP), Z0
	MOVQ         x_base+32(FP), SI
	EACH512(AXPY, AXPYS, ADVANCE2)

// func axpyAVX2(y []float32, a float32, x []float32)
TEXT ·axpyAVX2(SB), NOSPLIT, $0-56
	MOVQ         y_base+0(FP), DI
	MOVQ         y_len+8(FP), CX
	VBROADCASTSS a+24(FP), Y0
	MOVQ         x_base+32(FP), SI
	EACH256(AXPY, AXPYS, ADVANCE2)

// y[i] *= a: y in DI, a in A.
#define SCALE(off, A, B, T, U, V) \
	VMULPS  off(DI), A, T \
	VMOVUPS T, off(DI)

#define SCALES(MOV) \
	MOV    (DI), X2   \
	VMULPS X0, X2, X2 \
	MOV    X2, (DI)

// func scale(y []float32, a float32)
TEXT ·scale(SB), NOSPLIT, $0-28
	DISPATCH(·scaleAVX512, ·scaleAVX2, ·scaleGo)

// func scaleAVX512(y []float32, a float32)
TEXT ·scaleAVX512(SB), NOSPLIT, $0-28
	MOVQ         y_base+0(FP), DI
	MOVQ         y_len+8(FP), CX
	VBROADCASTSS a+24(FP), Z0
	EACH512(SCALE, SCALES, ADVANCE1)

// func scaleAVX2(y []float32, a float32)
TEXT ·scaleAVX2(SB), NOSPLIT, $0-28
	MOVQ         y_base+0(FP), DI
	MOVQ         y_len+8(FP), CX
	VBROADCASTSS a+24(FP), Y0
	EACH256(SCALE, SCALES, ADVANCE1)

// phi[i] -= eta*(v[i] + c*p[i]): phi in DI, v in SI, p in DX, eta in A, c in B.
#define STEP(off, A, B, T, U, V) \
	VMULPS  off(DX), B, T \
	VADDPS  off(SI), T, T \
	VMULPS  A, T, T       \
	VMOVUPS off(DI), U    \
	VSUBPS  T, U, U       \
	VMOVUPS U, off(DI)

#define STEPS(MOV) \
	MOV    (DX), X2   \
	MOV    (SI), X3   \
	MOV    (DI), X4   \
	VMULPS X1, X2, X2 \
	VADDPS X3, X2, X2 \
	VMULPS X0, X2, X2 \
	VSUBPS X2, X4, X4 \
	MOV    X4, (DI)

// func step(phi []float32, eta float32, v []float32, c float32, p []float32)
TEXT ·step(SB), NOSPLIT, $0-88
	DISPATCH(·stepAVX512, ·stepAVX2, ·stepGo)

// func stepAVX512(phi []float32, eta float32, v []float32, c float32, p []float32)
TEXT ·stepAVX512(SB), NOSPLIT, $0-88
	MOVQ         phi_base+0(FP), DI
	MOVQ         phi_len+8(FP), CX
	VBROADCASTSS eta+24(FP), Z0
	MOVQ         v_base+32(FP), SI
	VBROADCASTSS c+56(FP), Z1
	MOVQ         p_base+64(FP), DX
	EACH512(STEP, STEPS, ADVANCE3)

// func stepAVX2(phi []float32, eta float32, v []float32, c float32, p []float32)
TEXT ·stepAVX2(SB), NOSPLIT, $0-88
	MOVQ         phi_base+0(FP), DI
	MOVQ         phi_len+8(FP), CX
	VBROADCASTSS eta+24(FP), Y0
	MOVQ         v_base+32(FP), SI
	VBROADCASTSS c+56(FP), Y1
	MOVQ         p_base+64(FP), DX
	EACH256(STEP, STEPS, ADVANCE3)

// diff = q[i] - a[i], v[i] += diff*byB, abar[i] += diff*byM, a[i] = q[i]: a in DI, v in SI, abar in DX, q in BX, byB in A,
// byM in B.
