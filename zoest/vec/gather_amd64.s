//go:build !purego

#include "textflag.h"

// func gather(z *[GatherLanes]float64, entries []Entry, rows [][GatherLanes]float64) bool
//
// A product is rounded by its own instruction. The sums are in Y0, Y1 and Y2.
TEXT ·gather(SB), NOSPLIT, $0-57
	CMPB ·isa(SB), $1
	JGE  avx2
	JMP  ·gatherGo(SB)

avx2:
	MOVQ    z+0(FP), DI
	MOVQ    entries_base+8(FP), SI
	MOVQ    entries_len+16(FP), CX
	MOVQ    rows_base+32(FP), DX
	MOVQ    rows_len+40(FP), R8
	VMOVUPD (DI), Y0
	VMOVUPD 32(DI), Y1
	VMOVUPD 64(DI), Y2
	VXORPS  X6, X6, X6
	LEAQ    (SI)(CX*8), CX
	JMP     next

loop:
	MOVL         (SI), AX
	CMPQ         AX, R8
	JAE          missing
	LEAQ         (AX)(AX*2), AX
	SHLQ         $5, AX           // 96 bytes a row
	VCVTSS2SD    4(SI), X6, X7
	VBROADCASTSD X7, Y7
	VMULPD       (DX)(AX*1), Y7, Y3
	VMULPD       32(DX)(AX*1), Y7, Y4
	VMULPD       64(DX)(AX*1), Y7, Y5
	VADDPD       Y3, Y0, Y0
	VADDPD       Y4, Y1, Y1
	VADDPD       Y5, Y2, Y2
	ADDQ         $8, SI

next:
	CMPQ SI, CX
	JNE  loop
	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, 64(DI)
	VZEROUPPER
	MOVB $1, ret+56(FP)
	RET

missing:
	VZEROUPPER
	MOVB $0, ret+56(FP)
	RET
