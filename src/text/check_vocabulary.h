// The requirements on vocabularies of every kind.
#pragma once

#include "shunt/text.h"

namespace shunt::text {

/// Invalid argument, naming the token or the key, if something does not.
Status check_vocabulary(const Vocabulary& vocabulary);

}  // namespace shunt::text
