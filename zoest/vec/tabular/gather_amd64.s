//go:build !purego

#include "textflag.h"

// ENTRY sets AX to the index at which the next entry's row begins, and all lanes of ALL to the entry's number.
#define ENTRY(ALL) \
	MOVL         (SI), AX      \
	IMULQ        R9, AX        \
	CMPQ         AX, R8        \
	JGT          missing       \
	VCVTSS2SD    4(SI), X6, X7 \
	VBROADCASTSD X7, ALL       \
	ADDQ         $8, SI

// TERM adds a part of the row to SUM. The product and the sum are rounded separately.
#define TERM(at, ALL, PRODUCT, SUM) \
	VMULPD at(DX)(AX*8), ALL, PRODUCT \
	VADDPD PRODUCT, SUM, SUM

// func gather(z []float64, entries []Entry, rows []float64) bool
//
// It goes through the entries once for 24 sums, or for the last 12. The first time finds every entry without a row,
// before anything is stored.
TEXT ·gather(SB), NOSPLIT, $0-73
	CMPB ·isa(SB), $1
	JGE  vector
	JMP  ·gatherGo(SB)

vector:
	MOVQ   z_base+0(FP), DI
	MOVQ   z_len+8(FP), R9         // width
	MOVQ   entries_base+24(FP), R10
	MOVQ   entries_len+32(FP), CX
	MOVQ   rows_base+48(FP), DX
	MOVQ   rows_len+56(FP), R8
	LEAQ   (R10)(CX*8), CX
	SUBQ   R9, R8                  // where the last row begins
	MOVQ   R9, BX                  // sums left
	VXORPS X6, X6, X6
	JMP    next

strip:
	MOVQ R10, SI
	CMPQ BX, $24
	JLT  narrow
	CMPB ·isa(SB), $2
	JLT  avx2
	VMOVUPD (DI), Z0
	VMOVUPD 64(DI), Z1
	VMOVUPD 128(DI), Z2
	JMP  more512

loop512:
	ENTRY(Z7)
	TERM(0, Z7, Z3, Z0)
	TERM(64, Z7, Z4, Z1)
	TERM(128, Z7, Z5, Z2)

more512:
	CMPQ SI, CX
	JNE  loop512
	VMOVUPD Z0, (DI)
	VMOVUPD Z1, 64(DI)
	VMOVUPD Z2, 128(DI)
	JMP  stored

avx2:
	VMOVUPD (DI), Y0
	VMOVUPD 32(DI), Y1
	VMOVUPD 64(DI), Y2
	VMOVUPD 96(DI), Y8
	VMOVUPD 128(DI), Y9
	VMOVUPD 160(DI), Y10
	JMP  more

loop:
	ENTRY(Y7)
	TERM(0, Y7, Y3, Y0)
	TERM(32, Y7, Y4, Y1)
	TERM(64, Y7, Y5, Y2)
	TERM(96, Y7, Y11, Y8)
	TERM(128, Y7, Y12, Y9)
	TERM(160, Y7, Y13, Y10)

more:
	CMPQ SI, CX
	JNE  loop
	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, 64(DI)
	VMOVUPD Y8, 96(DI)
	VMOVUPD Y9, 128(DI)
	VMOVUPD Y10, 160(DI)

stored:
	ADDQ $192, DI
	ADDQ $192, DX
	SUBQ $24, BX
	JMP  next

narrow:
	VMOVUPD (DI), Y0
	VMOVUPD 32(DI), Y1
	VMOVUPD 64(DI), Y2
	JMP  morenarrow

loopnarrow:
	ENTRY(Y7)
	TERM(0, Y7, Y3, Y0)
	TERM(32, Y7, Y4, Y1)
	TERM(64, Y7, Y5, Y2)

morenarrow:
	CMPQ SI, CX
	JNE  loopnarrow
	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, 64(DI)
	SUBQ $12, BX

next:
	TESTQ BX, BX
	JNE   strip
	VZEROUPPER
	MOVB  $1, ret+72(FP)
	RET

missing:
	VZEROUPPER
	MOVB $0, ret+72(FP)
	RET
