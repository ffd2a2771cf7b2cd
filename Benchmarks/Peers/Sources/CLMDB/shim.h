// The system LMDB.
#include <lmdb.h>
