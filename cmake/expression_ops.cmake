# Generates <shunt/expression_ops.h>: each builder function of the op families, matmul(GraphBuilder& g, Operand w, Operand x), also as
# matmul(const Expr& w, const Expr& x). The declarations in src/ops/FAMILY/FAMILY.h are the only definition.
set(expression_ops "")
set(family_includes "")
foreach(header IN LISTS family_headers)
  cmake_path(GET header STEM family)
  if(NOT header MATCHES "/${family}/${family}\\.h$")
    continue()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  string(APPEND family_includes "#include \"shunt/ops/${family}.h\"\n")
  file(READ ${header} text)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  string(REPLACE ";" "@" text "${text}")
  string(REGEX MATCHALL "Result<(Value|Recurrence)> [a-z_0-9]+\\(GraphBuilder& g, [^@]*\\)@" declarations "${text}")
  foreach(declaration IN LISTS declarations)
    string(REGEX MATCH "^Result<(Value|Recurrence)> ([a-z_0-9]+)\\(GraphBuilder& g, (.*)\\)@$" found "${declaration}")
    set(result Expr)
    set(apply apply_op)
    if(CMAKE_MATCH_1 STREQUAL "Recurrence")
      set(result RecurrenceExpr)
      set(apply apply_recurrence)
    endif()
    set(name ${CMAKE_MATCH_2})
    set(parameters "${CMAKE_MATCH_3}")
    if(parameters MATCHES "std::vector")  # custom(): builder.h declares it
      continue()
    endif()
    string(REPLACE "<int, " "<int@" parameters "${parameters}")  # the one comma inside of a type
    string(REPLACE ", " ";" parameters "${parameters}")
    set(operands "")
    set(arguments "")
    set(wanted "")
    foreach(parameter IN LISTS parameters)
      string(REGEX MATCH "([a-z_0-9]+)( = .*)?$" found "${parameter}")
      set(argument ${CMAKE_MATCH_1})
      list(APPEND arguments ${argument})
      if(parameter MATCHES "^Operand ")
        list(APPEND operands "&${argument}")
        string(REPLACE "absent()" "Expr()" parameter "${parameter}")
        string(REPLACE "Operand " "const Expr& " parameter "${parameter}")
      endif()
      string(REPLACE "<int@" "<int, " parameter "${parameter}")
      list(APPEND wanted "${parameter}")
    endforeach()
    list(JOIN wanted ", " wanted)
    list(JOIN arguments ", " arguments)
    list(JOIN operands ", " operands)
    if(operands)
      string(APPEND expression_ops "inline ${result} ${name}(${wanted}) {\n"
        "  return ${apply}({${operands}}, [&](GraphBuilder& g) { return ${name}(g, ${arguments})@ })@\n}\n")
    else()
      string(APPEND expression_ops "inline Expr ${name}(Builder& builder, ${wanted}) {\n"
        "  return builder.apply([&](GraphBuilder& g) { return ${name}(g, ${arguments})@ })@\n}\n")
    endif()
  endforeach()
endforeach()
string(REPLACE "@" ";" expression_ops "${expression_ops}")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/include/shunt/expression_ops.h @ONLY CONTENT
"// Generated from the headers of the op families: their builder functions for values of a Builder. A failed operand is passed on, and so
// is the error of the call: the result carries it.
#pragma once

#include \"shunt/builder.h\"
@family_includes@
namespace shunt {

@expression_ops@
}  // namespace shunt
")
