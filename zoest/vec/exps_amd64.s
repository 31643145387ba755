//go:build !purego

#include "textflag.h"

// CONST puts one number into all lanes.
#define CONST(i, Y) VBROADCASTSD i*8(DX), Y

// TERM is a step of the polynomial in Y2: times r in Y3, plus the coefficient. A product is rounded by its own instruction.
#define TERM(i) \
	VBROADCASTSD ·expCoeff+i*8(SB), Y4 \
	VMULPD       Y3, Y2, Y2            \
	VADDPD       Y4, Y2, Y2

// POW2 sets Y to 2^X for four int32 X; 1023 is in Y14.
#define POW2(X, Y) \
	VPMOVSXDQ X, Y       \
	VPADDQ    Y14, Y, Y  \
	VPSLLQ    $52, Y, Y

// func expsAVX2(x []float64, constants *[8]float64)
//
// The steps are those of Exp. What is out of range goes through them and is replaced at the end.
TEXT ·expsAVX2(SB), NOSPLIT, $0-32
	MOVQ x_base+0(FP), DI
	MOVQ x_len+8(FP), AX
	MOVQ constants+24(FP), DX
	LEAQ (DI)(AX*8), SI
	CONST(0, Y8)
	CONST(1, Y9)
	CONST(2, Y10)
	CONST(3, Y11)
	CONST(4, Y12)
	CONST(5, Y13)
	CONST(6, Y7)
	CONST(7, Y15)
	MOVQ $1023, CX
	VMOVQ CX, X14
	VPBROADCASTQ X14, Y14

loop:
	VMOVUPD      (DI), Y0
	VMULPD       Y8, Y0, Y1
	VADDPD       Y9, Y1, Y1
	VROUNDPD     $1, Y1, Y1   // k, rounded down
	VMULPD       Y10, Y1, Y2
	VSUBPD       Y2, Y0, Y3
	VMULPD       Y11, Y1, Y2
	VSUBPD       Y2, Y3, Y3   // r
	VBROADCASTSD ·expCoeff+11*8(SB), Y2
	TERM(10)
	TERM(9)
	TERM(8)
	TERM(7)
	TERM(6)
	TERM(5)
	TERM(4)
	TERM(3)
	TERM(2)
	TERM(1)
	TERM(0)
	VMULPD       Y3, Y3, Y4
	VMULPD       Y2, Y4, Y2
	VADDPD       Y2, Y3, Y2
	VADDPD       Y2, Y12, Y2
	VCVTTPD2DQY  Y1, X1
	VPSRLD       $31, X1, X4
	VPADDD       X4, X1, X4
	VPSRAD       $1, X4, X4   // k/2, towards zero
	VPSUBD       X4, X1, X1
	POW2(X4, Y5)
	POW2(X1, Y6)
	VMULPD       Y5, Y2, Y2
	VMULPD       Y6, Y2, Y2
	VCMPPD       $0x1e, Y13, Y0, Y4 // above
	VBLENDVPD    Y4, Y15, Y2, Y2
	VCMPPD       $0x11, Y7, Y0, Y4  // below
	VANDNPD      Y2, Y4, Y2
	VCMPPD       $3, Y0, Y0, Y4     // NaN
	VBLENDVPD    Y4, Y0, Y2, Y2
	VMOVUPD      Y2, (DI)
	ADDQ         $32, DI
	CMPQ         DI, SI
	JNE          loop
	VZEROUPPER
	RET
