#include "engine/met/encoding.h"
