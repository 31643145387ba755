/* The device's side: it answers "the loss of sample h at these 64 numbers", and knows nothing of the rest. No allocation, no
   library but its own loss(); on a microcontroller call receive() with each byte of the serial line and write put() for it.

   query:  7e 5a, id (2 bytes), sample (2), 64 float32, CRC (2), the lowest byte first
   answer: 7e a5, id (2), loss as float32 (4), CRC (2) */
#include <stdint.h>
#include <string.h>

enum { DIM = 64, QUERY = 6 + 4 * DIM + 2, ANSWER = 10 };

void put(const uint8_t *bytes, int count);         /* writes to the line */
float loss(const float x[DIM], uint16_t sample);   /* the model and the data */

static uint16_t crc(const uint8_t *p, int n) {     /* CRC-16/XMODEM */
	uint16_t c = 0;
	while (n--) {
		c ^= (uint16_t)(*p++ << 8);
		for (int i = 0; i < 8; i++) c = (uint16_t)(c << 1 ^ (c & 0x8000 ? 0x1021 : 0));
	}
	return c;
}

void receive(uint8_t byte) {                       /* the last QUERY bytes are kept: a query that is whole ends with this byte */
	static uint8_t in[QUERY], out[ANSWER];
	static float x[DIM];
	memmove(in, in + 1, QUERY - 1);
	in[QUERY - 1] = byte;
	if (in[0] != 0x7e || in[1] != 0x5a || crc(in, QUERY - 2) != (in[QUERY - 2] | in[QUERY - 1] << 8)) return;
	memcpy(x, in + 6, sizeof x);
	float f = loss(x, (uint16_t)(in[4] | in[5] << 8));
	out[0] = 0x7e, out[1] = 0xa5, out[2] = in[2], out[3] = in[3];
	memcpy(out + 4, &f, 4);
	uint16_t sum = crc(out, ANSWER - 2);
	out[8] = (uint8_t)sum, out[9] = (uint8_t)(sum >> 8);
	put(out, ANSWER);
}

#ifdef __unix__                                    /* the rest stands in for a board: the line is standard input and output */
#include <unistd.h>

void put(const uint8_t *bytes, int count) {
	if (write(1, bytes, (size_t)count) != count) _exit(1);
}

float loss(const float x[DIM], uint16_t sample) {  /* of a sample whose numbers follow from its own */
	float off = 1;
	for (int i = 0; i < DIM; i++) off -= x[i] * (float)((sample * 7 + i * 5) % 11 - 5) / 16;
	return off * off / (1 + off * off);
}

int main(void) {
	uint8_t byte;
	while (read(0, &byte, 1) == 1) receive(byte);
	return 0;
}
#endif
