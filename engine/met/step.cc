#include "engine/met/step.h"
