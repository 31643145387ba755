//go:build !purego

#include "textflag.h"

// The steps are those of Sigmoid, with e^x of x = -|z| as in Exp: x is never above the range, and 2^k, k >= -1022, is a
// normal number. A value below the range goes through the steps and is finally replaced by zero. A product is rounded
// by its own instruction.

// CONST puts one number into all lanes.
#define CONST(i, Y) VBROADCASTSD i*8(DX), Y

// TERM is a step of the polynomial in Z2: times r in Z3, plus the coefficient.
#define TERM512(i) \
	VMULPD      Z3, Z2, Z2                  \
	VADDPD.BCST ·expCoeff+i*8(SB), Z2, Z2

// func sigmoidsAVX512(z []float64, constants *[6]float64)
TEXT ·sigmoidsAVX512(SB), NOSPLIT, $0-32
	MOVQ        z_base+0(FP), DI
	MOVQ        z_len+8(FP), CX
	MOVQ        constants+24(FP), DX
	CONST(0, Z8)
	CONST(1, Z9)
	CONST(2, Z10)
	CONST(3, Z11)
	CONST(4, Z12)
	CONST(5, Z13)
	VPXORD      Z15, Z15, Z15
	VPTERNLOGD  $0xff, Z14, Z14, Z14
	VPSLLQ      $63, Z14, Z14
	MOVL        $0xff, AX

loop:
	CMPQ        CX, $8
	JGE         full
	MOVL        $1, AX
	SHLL        CX, AX
	DECL        AX
full:
	KMOVW       AX, K1
	VMOVUPD.Z   (DI), K1, Z0
	VPORQ       Z14, Z0, Z1        // x
	VMULPD      Z8, Z1, Z4
	VADDPD      Z9, Z4, Z4
	VRNDSCALEPD $9, Z4, Z4         // k, rounded down
	VMULPD      Z10, Z4, Z2
	VSUBPD      Z2, Z1, Z3
	VMULPD      Z11, Z4, Z2
	VSUBPD      Z2, Z3, Z3         // r
	VBROADCASTSD ·expCoeff+11*8(SB), Z2
	TERM512(10)
	TERM512(9)
	TERM512(8)
	TERM512(7)
	TERM512(6)
	TERM512(5)
	TERM512(4)
	TERM512(3)
	TERM512(2)
	TERM512(1)
	TERM512(0)
	VMULPD      Z3, Z3, Z5
	VMULPD      Z2, Z5, Z2
	VADDPD      Z2, Z3, Z2
	VADDPD      Z2, Z12, Z2
	VSCALEFPD   Z4, Z2, Z2         // times 2^k
	VCMPPD      $0x11, Z13, Z1, K2 // below
	VMOVUPD     Z15, K2, Z2
	VADDPD      Z2, Z12, Z3
	VCMPPD      $0x1d, Z15, Z0, K3 // z >= 0
	VMOVUPD     Z12, K3, Z2
	VDIVPD      Z3, Z2, Z2
	VMOVUPD     Z2, K1, (DI)
	ADDQ        $64, DI
	SUBQ        $8, CX
	JGT         loop
	VZEROUPPER
	RET

#define TERM256(i) \
	VBROADCASTSD ·expCoeff+i*8(SB), Y4 \
	VMULPD       Y3, Y2, Y2            \
	VADDPD       Y4, Y2, Y2

// func sigmoidsAVX2(z []float64, constants *[6]float64)
TEXT ·sigmoidsAVX2(SB), NOSPLIT, $0-32
	MOVQ         z_base+0(FP), DI
	MOVQ         z_len+8(FP), CX
	MOVQ         constants+24(FP), DX
	CONST(0, Y8)
	CONST(1, Y9)
	CONST(2, Y10)
	CONST(3, Y11)
	CONST(4, Y12)
	CONST(5, Y13)
	VPCMPEQD     Y14, Y14, Y14
	VPSLLQ       $63, Y14, Y14
	MOVQ         $1023, AX
	VMOVQ        AX, X7
	VPBROADCASTQ X7, Y7
	VXORPS       X15, X15, X15

loop:
	VMOVUPD      (DI), Y0
	VPOR         Y14, Y0, Y1     // x
	VMULPD       Y8, Y1, Y5
	VADDPD       Y9, Y5, Y5
	VROUNDPD     $1, Y5, Y5      // k, rounded down
	VMULPD       Y10, Y5, Y2
	VSUBPD       Y2, Y1, Y3
	VMULPD       Y11, Y5, Y2
	VSUBPD       Y2, Y3, Y3      // r
	VBROADCASTSD ·expCoeff+11*8(SB), Y2
	TERM256(10)
	TERM256(9)
	TERM256(8)
	TERM256(7)
	TERM256(6)
	TERM256(5)
	TERM256(4)
	TERM256(3)
	TERM256(2)
	TERM256(1)
	TERM256(0)
	VMULPD       Y3, Y3, Y4
	VMULPD       Y2, Y4, Y2
	VADDPD       Y2, Y3, Y2
	VADDPD       Y2, Y12, Y2
	VCVTTPD2DQY  Y5, X5
	VPMOVSXDQ    X5, Y5
	VPADDQ       Y7, Y5, Y5
	VPSLLQ       $52, Y5, Y5
	VMULPD       Y5, Y2, Y2      // times 2^k
	VCMPPD       $0x11, Y13, Y1, Y4 // below
	VANDNPD      Y2, Y4, Y2
	VADDPD       Y2, Y12, Y3
	VCMPPD       $0x1d, Y15, Y0, Y4 // z >= 0
	VBLENDVPD    Y4, Y12, Y2, Y2
	VDIVPD       Y3, Y2, Y2
	VMOVUPD      Y2, (DI)
	ADDQ         $32, DI
	SUBQ         $4, CX
	JNE          loop
	VZEROUPPER
	RET
