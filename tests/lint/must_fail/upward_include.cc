// A file that the layer check must refuse: as wal/upward_include.cc it includes upwards, sideways rules aside.
#include "engine/database.h"
#include "storage/base/status.h"
