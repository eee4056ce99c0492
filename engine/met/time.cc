#include "engine/met/time.h"
