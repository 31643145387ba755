//go:build !purego

#include "textflag.h"

// The steps are those of Log. A product is rounded by its own instruction.

// CONST puts one number into all lanes.
#define CONST(i, Y) VBROADCASTSD i*8(DX), Y

// TERM is a step of the series in Y2: plus the coefficient, times f^2 in Y4.
#define TERM(i) \
	VBROADCASTSD ·odd+i*8(SB), Y5 \
	VADDPD       Y5, Y2, Y2       \
	VMULPD       Y2, Y4, Y2

// func logsAVX2(z []float64, constants *[9]float64) (left int)
TEXT ·logsAVX2(SB), NOSPLIT, $0-40
	MOVQ         z_base+0(FP), DI
	MOVQ         z_len+8(FP), CX
	MOVQ         constants+24(FP), DX
	CONST(0, Y8)
	CONST(1, Y9)
	CONST(2, Y10)
	CONST(3, Y11)
	CONST(4, Y12)
	CONST(5, Y13)
	CONST(6, Y14)
	CONST(7, Y15)
	CONST(8, Y7)
	MOVQ         $1022, AX
	VMOVQ        AX, X6
	VPBROADCASTQ X6, Y6

loop:
	VMOVUPD      (DI), Y0
	VCMPPD       $0x1d, Y8, Y0, Y1  // x >= the least normal number
	VCMPPD       $0x12, Y9, Y0, Y2  // x <= the largest number
	VANDPD       Y1, Y2, Y1
	VMOVMSKPD    Y1, AX
	CMPL         AX, $15
	JNE          done
	VPSRLQ       $52, Y0, Y1
	VPSUBQ       Y6, Y1, Y1         // k
	VANDPD       Y10, Y0, Y0
	VORPD        Y11, Y0, Y0        // m
	VCMPPD       $0x11, Y12, Y0, Y2 // m < sqrt(2)/2
	VPADDQ       Y2, Y1, Y1         // k-1 there
	VANDPD       Y0, Y2, Y2
	VADDPD       Y2, Y0, Y0         // 2 m there
	VPADDQ       Y7, Y1, Y1
	VSUBPD       Y7, Y1, Y1         // k as a float64
	VSUBPD       Y13, Y0, Y2
	VADDPD       Y13, Y0, Y3
	VDIVPD       Y3, Y2, Y3         // f
	VMULPD       Y3, Y3, Y4
	VXORPD       Y2, Y2, Y2
	TERM(0)
	TERM(1)
	TERM(2)
	TERM(3)
	TERM(4)
	TERM(5)
	TERM(6)
	TERM(7)
	TERM(8)
	TERM(9)
	TERM(10)
	VADDPD       Y3, Y3, Y3         // 2 f
	VMULPD       Y2, Y3, Y2
	VMULPD       Y15, Y1, Y4
	VADDPD       Y4, Y2, Y2
	VADDPD       Y2, Y3, Y2
	VMULPD       Y14, Y1, Y1
	VADDPD       Y2, Y1, Y1
	VMOVUPD      Y1, (DI)
	ADDQ         $32, DI
	SUBQ         $4, CX
	JNE          loop

done:
	MOVQ         CX, left+32(FP)
	VZEROUPPER
	RET
