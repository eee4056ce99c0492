#include "wal/epoch_clock.h"
