// RocksDB through its C interface.
#include <rocksdb/c.h>
