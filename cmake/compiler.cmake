# Flags that every target of the project shares.
set(SHUNT_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, e.g. address,undefined")

# Warnings are errors with the compilers that `./dev ci` builds with. Another one's new warnings are for us
# to read, not for a user to be stopped by.
set(known_compiler OFF)
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.") OR
   (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^19\\."))
  set(known_compiler ON)
endif()
option(SHUNT_WERROR "Treat warnings as errors" ${known_compiler})

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
# Sanitizer builds: optimised enough to run every test, with line numbers in reports.
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer")
# What is run under an emulator: more optimisation takes longer to compile than it saves when tests run.
set(CMAKE_CXX_FLAGS_FOREIGN "-O1 -DNDEBUG")

add_library(shunt_flags INTERFACE)
target_compile_options(shunt_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  $<$<BOOL:${SHUNT_WERROR}>:-Werror>
  # Results must not hang on whether a compiler joins a multiply and an add.
  -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # It cries wolf at a string literal + std::string: https://gcc.gnu.org/PR105329
  target_compile_options(shunt_flags INTERFACE -Wno-restrict)
endif()
if(SHUNT_SANITIZE)
  target_compile_options(shunt_flags INTERFACE -fsanitize=${SHUNT_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(shunt_flags INTERFACE -fsanitize=${SHUNT_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # What sanitizers put in confuses the analysis behind this warning, as GCC's manual says.
    target_compile_options(shunt_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
