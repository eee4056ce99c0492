#include "engine/catalogue.h"
