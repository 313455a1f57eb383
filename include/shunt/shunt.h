/// \file
/// The API that most programs need: graphs (builder.h, expression_ops.h), devices (runtime.h) and
/// language models (llm.h). Include it first. The other headers are for programs that need more,
/// such as GGUF files (gguf.h) or training (train.h).
///
/// \code
/// SHUNT_ASSIGN(Runtime runtime, Runtime::create());
/// Builder g;
/// auto w = g.weight<float>("w", {3, 2}, {1, 2, 3, -1, 0, 1});  // 2 rows of 3
/// auto x = g.input<float>("x", {3});
/// g.output("y", silu(matmul(w, x)));
/// SHUNT_ASSIGN(Executable graph, runtime.compile(std::move(g)));
/// graph.input<float>("x")[0] = 1;
/// SHUNT_TRY(graph.run());
/// for (float y : graph.output<float>("y")) std::cout << y << "\n";
/// \endcode
#pragma once

#include "shunt/builder.h"
#include "shunt/expression_ops.h"
#include "shunt/llm.h"
#include "shunt/runtime.h"
