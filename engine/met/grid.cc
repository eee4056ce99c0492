#include "engine/met/grid.h"
