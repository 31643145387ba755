//go:build !purego

#include "textflag.h"
#include "asm_arm64.h"

// The reductions, in the order that dotGo defines. Lanes 4k to 4k+3 are Vk. x is at R0, y at R1; R4 counts the elements
// of later blocks, R5 those of this block, and F31 has the sum of the blocks so far.
//
// A reduction is three macros: LOAD(LDP) loads as many elements as LDP from x to V16-V19 and from y to V20-V23,
// LOADLANE2 loads one more to lane 2 of V16 and V20, and MUL(i) replaces V(16+i) by the products with V(20+i).
//
// The elements of a block after its last 64 are added to the lanes in fours. Before that, while V16 and V20 are free,
// the products of the last three or fewer are stored in V24, which is finally added to the next register in turn. The
// zeros that fill it up change nothing: no lane holds -0.

// CHAIN adds the next four products to the lanes of register k, or exits if there are no four.
#define CHAIN(k, last, LOAD, MUL) \
	CMP  $(4*k+4), R5 \
	BLT  last         \
	LOAD(LDP4)        \
	MUL(0)            \
	FADDV(16, k, k)

// LAST adds the last few products, V24, to the lanes of register k.
#define LAST(k, last) \
last:               \
	FADDV(24, k, k) \
	B    fold

// ROUND adds sixteen products to the lanes of registers k to k+3.
#define ROUND(LOAD, MUL, k) \
	LOAD(LDP16)         \
	OP16(MUL)           \
	FADDV(16, k, k)     \
	FADDV(17, k+1, k+1) \
	FADDV(18, k+2, k+2) \
	FADDV(19, k+3, k+3)

// REDUCE leaves the sum in F31. R6 is the number of a block's elements: the first folds are skipped where it is small.
#define REDUCE(LOAD, LOADLANE2, MUL) \
	VEOR V31.B16, V31.B16, V31.B16 \
	CBZ  R4, done                  \
blocks:                            \
	MOVD $4096, R5                 \
	CMP  R5, R4                    \
	CSEL LT, R4, R5, R5            \
	SUB  R5, R4, R4                \
	VEOR V0.B16, V0.B16, V0.B16    \
	VEOR V1.B16, V1.B16, V1.B16    \
	VEOR V2.B16, V2.B16, V2.B16    \
	VEOR V3.B16, V3.B16, V3.B16    \
	VEOR V4.B16, V4.B16, V4.B16    \
	VEOR V5.B16, V5.B16, V5.B16    \
	VEOR V6.B16, V6.B16, V6.B16    \
	VEOR V7.B16, V7.B16, V7.B16    \
	VEOR V8.B16, V8.B16, V8.B16    \
	VEOR V9.B16, V9.B16, V9.B16    \
	VEOR V10.B16, V10.B16, V10.B16 \
	VEOR V11.B16, V11.B16, V11.B16 \
	VEOR V12.B16, V12.B16, V12.B16 \
	VEOR V13.B16, V13.B16, V13.B16 \
	VEOR V14.B16, V14.B16, V14.B16 \
	VEOR V15.B16, V15.B16, V15.B16 \
	MOVD R5, R6                    \
	SUBS $64, R5                   \
	BLT  rest                      \
loop:                              \
	ROUND(LOAD, MUL, 0)            \
	ROUND(LOAD, MUL, 4)            \
	ROUND(LOAD, MUL, 8)            \
	ROUND(LOAD, MUL, 12)           \
	SUBS $64, R5                   \
	BGE  loop                      \
rest:                              \
	ANDS $63, R5                   \
	BEQ  fold                      \
	AND  $60, R5, R7               \
	MOVD R0, R9                    \
	MOVD R1, R10                   \
	ADD  R7<<2, R0, R0             \
	ADD  R7<<2, R1, R1             \
	VEOR V16.B16, V16.B16, V16.B16 \
	VEOR V20.B16, V20.B16, V20.B16 \
	TBZ  $1, R5, one               \
	LOAD(LDP2)                     \
	TBZ  $0, R5, few               \
	LOADLANE2                      \
	B    few                       \
one:                               \
	TBZ  $0, R5, few               \
	LOAD(LDP1)                     \
few:                               \
	MUL(0)                         \
	VMOV V16.B16, V24.B16          \
	MOVD R9, R0                    \
	MOVD R10, R1                   \
	CHAIN(0, last0, LOAD, MUL)     \
	CHAIN(1, last1, LOAD, MUL)     \
	CHAIN(2, last2, LOAD, MUL)     \
	CHAIN(3, last3, LOAD, MUL)     \
	CHAIN(4, last4, LOAD, MUL)     \
	CHAIN(5, last5, LOAD, MUL)     \
	CHAIN(6, last6, LOAD, MUL)     \
	CHAIN(7, last7, LOAD, MUL)     \
	CHAIN(8, last8, LOAD, MUL)     \
	CHAIN(9, last9, LOAD, MUL)     \
	CHAIN(10, last10, LOAD, MUL)   \
	CHAIN(11, last11, LOAD, MUL)   \
	CHAIN(12, last12, LOAD, MUL)   \
	CHAIN(13, last13, LOAD, MUL)   \
	CHAIN(14, last14, LOAD, MUL)   \
	LAST(15, last15)               \
	LAST(14, last14)               \
	LAST(13, last13)               \
	LAST(12, last12)               \
	LAST(11, last11)               \
	LAST(10, last10)               \
	LAST(9, last9)                 \
	LAST(8, last8)                 \
	LAST(7, last7)                 \
	LAST(6, last6)                 \
	LAST(5, last5)                 \
	LAST(4, last4)                 \
	LAST(3, last3)                 \
	LAST(2, last2)                 \
	LAST(1, last1)                 \
	LAST(0, last0)                 \
fold:                              \
	CMP  $8, R6                    \
	BLE  fold4                     \
	CMP  $16, R6                   \
	BLE  fold8                     \
	FADDV(8, 0, 0)                 \
	FADDV(9, 1, 1)                 \
	FADDV(10, 2, 2)                \
	FADDV(11, 3, 3)                \
	FADDV(12, 4, 4)                \
	FADDV(13, 5, 5)                \
	FADDV(14, 6, 6)                \
	FADDV(15, 7, 7)                \
	FADDV(4, 0, 0)                 \
	FADDV(5, 1, 1)                 \
	FADDV(6, 2, 2)                 \
	FADDV(7, 3, 3)                 \
fold8:                             \
	FADDV(2, 0, 0)                 \
	FADDV(3, 1, 1)                 \
fold4:                             \
	FADDV(1, 0, 0)                 \
	VDUP V0.D[1], V1.D2            \
	FADDV(1, 0, 0)                 \
	VDUP V0.S[1], V1.S4            \
	FADDS F1, F0, F0               \
	FCVTSD F0, F0                  \
	FADDD F0, F31, F31             \
	CBNZ R4, blocks                \
done:

// x[i]*y[i]
#define DOTLOAD(LDP) \
	LDP(R0, V16, V17, V18, V19) \
	LDP(R1, V20, V21, V22, V23)
#define DOTLANE2 \
	VLD1 (R0), V16.S[2] \
	VLD1 (R1), V20.S[2]
#define DOTMUL(i) \
	FMULV(20+i, 16+i, 16+i)

// func dot(x, y []float32) float64
TEXT ·dot(SB), NOSPLIT, $0-56
	MOVD  x_base+0(FP), R0
	MOVD  x_len+8(FP), R4
	MOVD  y_base+24(FP), R1
	REDUCE(DOTLOAD, DOTLANE2, DOTMUL)
	FMOVD F31, ret+48(FP)
	RET
