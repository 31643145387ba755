//go:build !purego

#include "textflag.h"
#include "asm_arm64.h"

// The elementwise kernels.
//
// A kernel is a macro K(LD, LDP, ST, OP) that processes as many elements as its four arguments do, and advances its
// pointers. Its vectors are at R0 to R3 and are loaded to V0-V3, V4-V7, V8-V11 and V12-V15; its scalars fill V30 and
// V31. A product is rounded by its own instruction.
//
// EACH applies a kernel to R4 elements: sixteen per iteration, then the rest in steps of 8, 4, 2 and 1. Where the
// destination is also a source, each element is read before it is written.

#define EACH(K) \
	SUBS $16, R4               \
	BLT  tail                  \
loop:                          \
	K(LD16, LDP16, ST16, OP16) \
	SUBS $16, R4               \
	BGE  loop                  \
tail:                          \
	TBZ  $3, R4, tail4         \
	K(LD8, LDP8, ST8, OP8)     \
tail4:                         \
	TBZ  $2, R4, tail2         \
	K(LD4, LDP4, ST4, OP4)     \
tail2:                         \
	TBZ  $1, R4, tail1         \
	K(LD2, LDP2, ST2, OP4)     \
tail1:                         \
	TBZ  $0, R4, done          \
	K(LD1, LDP1, ST1, OP4)     \
done:                          \
	RET

// y[i] += a*x[i]: y at R0, x at R1.
#define AXPY(LD, LDP, ST, OP) \
	LDP(R1, V4, V5, V6, V7) \
	LD(R0, V0, V1, V2, V3)  \
	OP(AXPYOP)              \
	ST(R0, V0, V1, V2, V3)
#define AXPYOP(i) \
	FMULV(30, 4+i, 4+i) \
	FADDV(4+i, i, i)

// func axpy(y []float32, a float32, x []float32)
TEXT ·axpy(SB), NOSPLIT, $0-56
	MOVD  y_base+0(FP), R0
	MOVD  y_len+8(FP), R4
	MOVWU a+24(FP), R5
	VDUP  R5, V30.S4
	MOVD  x_base+32(FP), R1
	EACH(AXPY)

// y[i] *= a: y at R0.
#define SCALE(LD, LDP, ST, OP) \
	LD(R0, V0, V1, V2, V3) \
	OP(SCALEOP)            \
	ST(R0, V0, V1, V2, V3)
#define SCALEOP(i) \
	FMULV(30, i, i)

// func scale(y []float32, a float32)
TEXT ·scale(SB), NOSPLIT, $0-28
	MOVD  y_base+0(FP), R0
	MOVD  y_len+8(FP), R4
	MOVWU a+24(FP), R5
	VDUP  R5, V30.S4
	EACH(SCALE)

// phi[i] -= eta*(v[i] + c*p[i]): phi at R0, v at R1, p at R2, eta in V30, c in V31.
#define STEP(LD, LDP, ST, OP) \
	LDP(R2, V8, V9, V10, V11) \
	LDP(R1, V4, V5, V6, V7)   \
	LD(R0, V0, V1, V2, V3)    \
	OP(STEPOP)                \
	ST(R0, V0, V1, V2, V3)
#define STEPOP(i) \
	FMULV(31, 8+i, 8+i)  \
	FADDV(8+i, 4+i, 4+i) \
	FMULV(30, 4+i, 4+i)  \
	FSUBV(4+i, i, i)

// func step(phi []float32, eta float32, v []float32, c float32, p []float32)
TEXT ·step(SB), NOSPLIT, $0-88
	MOVD  phi_base+0(FP), R0
	MOVD  phi_len+8(FP), R4
	MOVWU eta+24(FP), R5
	VDUP  R5, V30.S4
	MOVD  v_base+32(FP), R1
	MOVWU c+56(FP), R5
	VDUP  R5, V31.S4
	MOVD  p_base+64(FP), R2
	EACH(STEP)
