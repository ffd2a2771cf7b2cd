#include "checksum.h"

#include <string.h>

// Slicing by sixteen: table[k][b] is the checksum of the byte b followed by k zero bytes.
static uint32_t table[16][256];

void peers_crc32c_prepare(void) {
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; bit++) {
      remainder = (remainder >> 1) ^ ((remainder & 1) ? 0x82F63B78u : 0);
    }
    table[0][byte] = remainder;
  }
  for (int slice = 1; slice < 16; slice++) {
    for (int byte = 0; byte < 256; byte++) {
      uint32_t previous = table[slice - 1][byte];
      table[slice][byte] = (previous >> 8) ^ table[0][previous & 0xFF];
    }
  }
}

// The four bytes of one word, of which `last` zero-extended bytes follow the lowest-addressed one.
static inline uint32_t fold(uint32_t word, int last) {
  return table[last][word & 0xFF] ^ table[last - 1][(word >> 8) & 0xFF] ^
         table[last - 2][(word >> 16) & 0xFF] ^ table[last - 3][word >> 24];
}

uint32_t peers_crc32c(const void *bytes, size_t count) {
  const uint8_t *next = bytes;
  uint32_t checksum = 0xFFFFFFFFu;
  while (count >= 16) {
    // Loaded little-endian, as every platform that this package runs on is.
    uint32_t words[4];
    memcpy(words, next, 16);
    checksum = fold(words[0] ^ checksum, 15) ^ fold(words[1], 11) ^ fold(words[2], 7) ^
               fold(words[3], 3);
    next += 16;
    count -= 16;
  }
  while (count-- > 0) {
    checksum = (checksum >> 8) ^ table[0][(checksum ^ *next++) & 0xFF];
  }
  return checksum ^ 0xFFFFFFFFu;
}
