#ifndef CHECKSUM_H
#define CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/// The CRC-32C of `count` bytes, by tables and without special instructions.
///
/// It is in the speed class of a portable implementation on purpose: it is what a store that
/// verifies each value it reads would add to a peer's bare lookup.
uint32_t peers_crc32c(const void *bytes, size_t count);

/// Builds the tables; call once before any thread computes a checksum.
void peers_crc32c_prepare(void);

#endif
