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

// The eight bytes of one word, of which `last` zero bytes follow the lowest-addressed one. The
// exclusive-ors form a tree, so that the lookups of a word do not wait for one another.
static inline uint32_t fold(uint64_t word, int last) {
  uint32_t a = table[last][word & 0xFF] ^ table[last - 1][(word >> 8) & 0xFF];
  uint32_t b = table[last - 2][(word >> 16) & 0xFF] ^ table[last - 3][(word >> 24) & 0xFF];
  uint32_t c = table[last - 4][(word >> 32) & 0xFF] ^ table[last - 5][(word >> 40) & 0xFF];
  uint32_t d = table[last - 6][(word >> 48) & 0xFF] ^ table[last - 7][word >> 56];
  return (a ^ b) ^ (c ^ d);
}

uint32_t peers_crc32c(const void *bytes, size_t count) {
  const uint8_t *next = bytes;
  uint32_t checksum = 0xFFFFFFFFu;
  while (count >= 16) {
    // Loaded little-endian, as every platform that this package runs on is.
    uint64_t low, high;
    memcpy(&low, next, 8);
    memcpy(&high, next + 8, 8);
    checksum = fold(low ^ checksum, 15) ^ fold(high, 7);
    next += 16;
    count -= 16;
  }
  while (count-- > 0) {
    checksum = (checksum >> 8) ^ table[0][(checksum ^ *next++) & 0xFF];
  }
  return checksum ^ 0xFFFFFFFFu;
}
