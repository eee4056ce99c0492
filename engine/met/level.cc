#include "engine/met/level.h"
