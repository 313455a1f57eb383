// All of Shunt that most programs need: graphs (builder.h, expression_ops.h), devices (runtime.h)
// and language models (llm.h).
#pragma once

#include "shunt/builder.h"
#include "shunt/expression_ops.h"
#include "shunt/llm.h"
#include "shunt/runtime.h"
