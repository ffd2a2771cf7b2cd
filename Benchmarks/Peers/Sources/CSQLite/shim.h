// The system SQLite, the one that GRDB links on Linux too.
#include <sqlite3.h>
