# Flags that every target of the project shares.
set(SHUNT_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, e.g. address,undefined")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
# Sanitizer builds: optimised enough to run every test, with line numbers in reports.
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer")

add_library(shunt_flags INTERFACE)
target_compile_options(shunt_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  # Results must not hang on whether a compiler joins a multiply and an add.
  -ffp-contract=off)
if(SHUNT_SANITIZE)
  target_compile_options(shunt_flags INTERFACE -fsanitize=${SHUNT_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(shunt_flags INTERFACE -fsanitize=${SHUNT_SANITIZE})
endif()
