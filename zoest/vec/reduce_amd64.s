//go:build !purego

#include "textflag.h"
#include "asm_amd64.h"

// The reductions, in the order that dotGo defines. x is in SI, y in DI, DX counts the remaining elements of this block,
// CX those of later blocks, and X15 has the sum of the blocks so far. Fewer than 64 elements at the end, or in all, are
// a block with a shorter path.
//
// A reduction is a macro P(off, x, y, T) that sets T to the products of one register of elements at byte offset off
// from the pointers x and y, and PS(MOV, T, U), P3(T, U) for two elements (VMOVSD), one (VMOVSS) or three at R10 and
// R11.
//
// A lane is set to its first product, while the definition adds the product to +0. That differs only in the sign of a
// zero, which disappears at the latest when the fold is added to a sum of blocks that started at +0. For the same
// reason zeros that fill up a register, or a lane without elements, change nothing.

// PARTIAL puts the products of the last N mod 8 elements into Y8, followed by zeros. N < 64; R10 and R11 then point to
// the first of these elements.
#define PARTIAL(P, PS, P3, N, two, one, none, four, partial) \
	MOVL        N, R9           \
	ANDL        $60, R9         \
	LEAQ        (SI)(R9*4), R10 \
	LEAQ        (DI)(R9*4), R11 \
	TESTL       $2, N           \
	JEQ         one             \
	TESTL       $1, N           \
	JEQ         two             \
	P3(X8, X9)                  \
	JMP         four            \
one:                            \
	TESTL       $1, N           \
	JEQ         none            \
	PS(VMOVSS, X8, X9)          \
	JMP         four            \
none:                           \
	VXORPS      X8, X8, X8      \
	JMP         four            \
two:                            \
	PS(VMOVSD, X8, X9)          \
four:                           \
	TESTL       $4, N           \
	JEQ         partial         \
	SUBQ        $16, R10        \
	SUBQ        $16, R11        \
	P(0, R10, R11, X9)          \
	VINSERTF128 $1, X8, Y9, Y8  \
partial:

// PARTIAL16 continues: the last N mod 16 elements, in Z8.
#define PARTIAL16(P, N, partial16) \
	TESTL         $8, N          \
	JEQ           partial16      \
	P(-32, R10, R11, Y9)         \
	VINSERTF64X4  $1, Y8, Z9, Z8 \
partial16:

// FOLD4 and FOLD2 fold the lanes above 3 and above 1 of Y0; ADDSUM adds the result to the sum.
#define FOLD4 \
	VEXTRACTF128 $1, Y0, X1 \
	VADDPS       X1, X0, X0

#define FOLD2 \
	VMOVHLPS     X0, X0, X1 \
	VADDPS       X1, X0, X0 \
	VMOVSHDUP    X0, X1     \
	VADDSS       X1, X0, X0

#define ADDSUM \
	VCVTSS2SD    X0, X0, X0 \
	VADDSD       X0, X15, X15

// SHORT16 folds the last, fewer than 16, elements of a short input, CX mod 8 of them in Y8; it starts at short16 and is
// entered at fold4 with eight lanes in Y0. The reduction ends with it.
#define SHORT16(P) \
short16:                     \
	TESTL         $8, CX     \
	JNE           eight      \
	VMOVAPS       Y8, Y0     \
	TESTL         $4, CX     \
	JEQ           fold2      \
	JMP           fold4      \
eight:                       \
	P(-32, R10, R11, Y0)     \
	VADDPS        Y8, Y0, Y0 \
fold4:                       \
	FOLD4                    \
fold2:                       \
	FOLD2                    \
	ADDSUM                   \
done:                        \
	VZEROUPPER

// Lanes 16k to 16k+15 are Zk.
#define REDUCE512(P, PS, P3) \
	VXORPD        X15, X15, X15                                \
	CMPQ          CX, $64                                      \
	JLT           short                                        \
blocks:                                                        \
	MOVL          $4096, DX                                    \
	CMPQ          CX, DX                                       \
	CMOVQLT       CX, DX                                       \
	SUBQ          DX, CX                                       \
	P(0, SI, DI, Z0)                                           \
	P(64, SI, DI, Z1)                                          \
	P(128, SI, DI, Z2)                                         \
	P(192, SI, DI, Z3)                                         \
	ADVANCE2(256)                                              \
	SUBQ          $128, DX                                     \
	JLT           rest                                         \
loop:                                                          \
	P(0, SI, DI, Z4)                                           \
	P(64, SI, DI, Z5)                                          \
	P(128, SI, DI, Z6)                                         \
	P(192, SI, DI, Z7)                                         \
	VADDPS        Z4, Z0, Z0                                   \
	VADDPS        Z5, Z1, Z1                                   \
	VADDPS        Z6, Z2, Z2                                   \
	VADDPS        Z7, Z3, Z3                                   \
	ADVANCE2(256)                                              \
	SUBQ          $64, DX                                      \
	JGE           loop                                         \
rest:                                                          \
	ANDL          $63, DX                                      \
	JEQ           fold32                                       \
	PARTIAL(P, PS, P3, DX, two, one, none, four, partial)      \
	PARTIAL16(P, DX, partial16)                                \
	CMPL          DX, $16                                      \
	JLT           rest0                                        \
	P(0, SI, DI, Z4)                                           \
	VADDPS        Z4, Z0, Z0                                   \
	CMPL          DX, $32                                      \
	JLT           rest1                                        \
	P(64, SI, DI, Z5)                                          \
	VADDPS        Z5, Z1, Z1                                   \
	CMPL          DX, $48                                      \
	JLT           rest2                                        \
	P(128, SI, DI, Z6)                                         \
	VADDPS        Z6, Z2, Z2                                   \
	VADDPS        Z8, Z3, Z3                                   \
	JMP           fold32                                       \
rest0:                                                         \
	VADDPS        Z8, Z0, Z0                                   \
	JMP           fold32                                       \
rest1:                                                         \
	VADDPS        Z8, Z1, Z1                                   \
	JMP           fold32                                       \
rest2:                                                         \
	VADDPS        Z8, Z2, Z2                                   \
fold32:                                                        \
	VADDPS        Z2, Z0, Z0                                   \
	VADDPS        Z3, Z1, Z1                                   \
	VADDPS        Z1, Z0, Z0                                   \
	VEXTRACTF64X4 $1, Z0, Y1                                   \
	VADDPS        Y1, Y0, Y0                                   \
	FOLD4                                                      \
	FOLD2                                                      \
	ADDSUM                                                     \
	CMPQ          CX, $64                                      \
	JGE           blocks                                       \
short:                                                         \
	TESTL         CX, CX                                       \
	JEQ           done                                         \
	VXORPS        X8, X8, X8                                   \
	TESTL         $15, CX                                      \
	JEQ           whole                                        \
	PARTIAL(P, PS, P3, CX, stwo, sone, snone, sfour, spartial) \
	CMPL          CX, $16                                      \
	JLT           short16                                      \
	PARTIAL16(P, CX, spartial16)                               \
whole:                                                         \
	P(0, SI, DI, Z0)                                           \
	CMPL          CX, $32                                      \
	JLT           short32                                      \
	P(64, SI, DI, Z1)                                          \
	CMPL          CX, $48                                      \
	JLT           short48                                      \
	P(128, SI, DI, Z2)                                         \
	VADDPS        Z2, Z0, Z0                                   \
	VADDPS        Z8, Z1, Z1                                   \
	VADDPS        Z1, Z0, Z0                                   \
	JMP           fold8                                        \
short48:                                                       \
	VADDPS        Z8, Z0, Z0                                   \
	VADDPS        Z1, Z0, Z0                                   \
	JMP           fold8                                        \
short32:                                                       \
	VADDPS        Z8, Z0, Z0                                   \
fold8:                                                         \
	VEXTRACTF64X4 $1, Z0, Y1                                   \
	VADDPS        Y1, Y0, Y0                                   \
	JMP           fold4                                        \
	SHORT16(P)

// Lanes 8k to 8k+7 are Yk.
#define REDUCE256(P, PS, P3) \
	VXORPD        X15, X15, X15                                \
	CMPQ          CX, $64                                      \
	JLT           short                                        \
blocks:                                                        \
	MOVL          $4096, DX                                    \
	CMPQ          CX, DX                                       \
	CMOVQLT       CX, DX                                       \
	SUBQ          DX, CX                                       \
	P(0, SI, DI, Y0)                                           \
	P(32, SI, DI, Y1)                                          \
	P(64, SI, DI, Y2)                                          \
	P(96, SI, DI, Y3)                                          \
	P(128, SI, DI, Y4)                                         \
	P(160, SI, DI, Y5)                                         \
	P(192, SI, DI, Y6)                                         \
	P(224, SI, DI, Y7)                                         \
	ADVANCE2(256)                                              \
	SUBQ          $128, DX                                     \
	JLT           rest                                         \
loop:                                                          \
	P(0, SI, DI, Y8)                                           \
	P(32, SI, DI, Y9)                                          \
	P(64, SI, DI, Y10)                                         \
	P(96, SI, DI, Y11)                                         \
	VADDPS        Y8, Y0, Y0                                   \
	VADDPS        Y9, Y1, Y1                                   \
	VADDPS        Y10, Y2, Y2                                  \
	VADDPS        Y11, Y3, Y3                                  \
	P(128, SI, DI, Y8)                                         \
	P(160, SI, DI, Y9)                                         \
	P(192, SI, DI, Y10)                                        \
	P(224, SI, DI, Y11)                                        \
	VADDPS        Y8, Y4, Y4                                   \
	VADDPS        Y9, Y5, Y5                                   \
	VADDPS        Y10, Y6, Y6                                  \
	VADDPS        Y11, Y7, Y7                                  \
	ADVANCE2(256)                                              \
	SUBQ          $64, DX                                      \
	JGE           loop                                         \
rest:                                                          \
	ANDL          $63, DX                                      \
	JEQ           fold32                                       \
	PARTIAL(P, PS, P3, DX, two, one, none, four, partial)      \
chain:                                                         \
	CMPL          DX, $8                                       \
	JLT           rest0                                        \
	P(0, SI, DI, Y9)                                           \
	VADDPS        Y9, Y0, Y0                                   \
	CMPL          DX, $16                                      \
	JLT           rest1                                        \
	P(32, SI, DI, Y9)                                          \
	VADDPS        Y9, Y1, Y1                                   \
	CMPL          DX, $24                                      \
	JLT           rest2                                        \
	P(64, SI, DI, Y9)                                          \
	VADDPS        Y9, Y2, Y2                                   \
	CMPL          DX, $32                                      \
	JLT           rest3                                        \
	P(96, SI, DI, Y9)                                          \
	VADDPS        Y9, Y3, Y3                                   \
	CMPL          DX, $40                                      \
	JLT           rest4                                        \
	P(128, SI, DI, Y9)                                         \
	VADDPS        Y9, Y4, Y4                                   \
	CMPL          DX, $48                                      \
	JLT           rest5                                        \
	P(160, SI, DI, Y9)                                         \
	VADDPS        Y9, Y5, Y5                                   \
	CMPL          DX, $56                                      \
	JLT           rest6                                        \
	P(192, SI, DI, Y9)                                         \
	VADDPS        Y9, Y6, Y6                                   \
	VADDPS        Y8, Y7, Y7                                   \
	JMP           fold32                                       \
rest0:                                                         \
	VADDPS        Y8, Y0, Y0                                   \
	JMP           fold32                                       \
rest1:                                                         \
	VADDPS        Y8, Y1, Y1                                   \
	JMP           fold32                                       \
rest2:                                                         \
	VADDPS        Y8, Y2, Y2                                   \
	JMP           fold32                                       \
rest3:                                                         \
	VADDPS        Y8, Y3, Y3                                   \
	JMP           fold32                                       \
rest4:                                                         \
	VADDPS        Y8, Y4, Y4                                   \
	JMP           fold32                                       \
rest5:                                                         \
	VADDPS        Y8, Y5, Y5                                   \
	JMP           fold32                                       \
rest6:                                                         \
	VADDPS        Y8, Y6, Y6                                   \
fold32:                                                        \
	VADDPS        Y4, Y0, Y0                                   \
	VADDPS        Y5, Y1, Y1                                   \
	VADDPS        Y6, Y2, Y2                                   \
	VADDPS        Y7, Y3, Y3                                   \
	VADDPS        Y2, Y0, Y0                                   \
	VADDPS        Y3, Y1, Y1                                   \
	VADDPS        Y1, Y0, Y0                                   \
	FOLD4                                                      \
	FOLD2                                                      \
	ADDSUM                                                     \
	CMPQ          CX, $64                                      \
	JGE           blocks                                       \
short:                                                         \
	TESTL         CX, CX                                       \
	JEQ           done                                         \
	PARTIAL(P, PS, P3, CX, stwo, sone, snone, sfour, spartial) \
	CMPL          CX, $16                                      \
	JLT           short16                                      \
	VXORPS        Y0, Y0, Y0                                   \
	VXORPS        Y1, Y1, Y1                                   \
	VXORPS        Y2, Y2, Y2                                   \
	VXORPS        Y3, Y3, Y3                                   \
	VXORPS        Y4, Y4, Y4                                   \
	VXORPS        Y5, Y5, Y5                                   \
	VXORPS        Y6, Y6, Y6                                   \
	VXORPS        Y7, Y7, Y7                                   \
	MOVL          CX, DX                                       \
	XORL          CX, CX                                       \
	JMP           chain                                        \
	SHORT16(P)

// x[i]*y[i]
#define DOT(off, x, y, T) \
	VMOVUPS off(x), T \
	VMULPS  off(y), T, T

#define DOTS(MOV, T, U) \
	MOV    (R10), T \
	MOV    (R11), U \
	VMULPS U, T, T

#define DOT3(T, U) \
	VMOVSD    (R10), T            \
	VMOVSD    (R11), U            \
	VINSERTPS $0x20, 8(R10), T, T \
	VINSERTPS $0x20, 8(R11), U, U \
	VMULPS    U, T, T

// func dot(x, y []float32) float64
TEXT ·dot(SB), NOSPLIT, $0-56
	LONG(x_len+8(FP), ·dotAVX2)
	DISPATCH(·dotAVX512, ·dotAVX2, ·dotGo)

// func dotAVX512(x, y []float32) float64
TEXT ·dotAVX512(SB), NOSPLIT, $0-56
	MOVQ   x_base+0(FP), SI
	MOVQ   x_len+8(FP), CX
	MOVQ   y_base+24(FP), DI
	REDUCE512(DOT, DOTS, DOT3)
	VMOVSD X15, ret+48(FP)
	RET

// func dotAVX2(x, y []float32) float64
TEXT ·dotAVX2(SB), NOSPLIT, $0-56
	MOVQ   x_base+0(FP), SI
	MOVQ   x_len+8(FP), CX
	MOVQ   y_base+24(FP), DI
	REDUCE256(DOT, DOTS, DOT3)
	VMOVSD X15, ret+48(FP)
	RET
