# Flags that every target of the project shares.
set(SHUNT_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, e.g. address,undefined")
option(SHUNT_COVERAGE "Count how often each line of src/ runs, for gcov (src/CMakeLists.txt adds the compile options)" OFF)
mark_as_advanced(SHUNT_COVERAGE)

# Warnings are errors with the compilers that `./dev ci` builds with. New warnings of other compilers must not stop a user's build.
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
set(SHUNT_SANITIZE_LEVEL "-O1" CACHE STRING "Optimization level of builds with sanitizers; clang compiles -O0 in half the time of -O1")
mark_as_advanced(SHUNT_SANITIZE_LEVEL)
set(CMAKE_CXX_FLAGS_SANITIZE "${SHUNT_SANITIZE_LEVEL} -g1 -fno-omit-frame-pointer")
# Coverage builds: at -O0 vector kernels would store each vector between two operations.
set(CMAKE_CXX_FLAGS_COVERAGE "-O1 -DNDEBUG")
# Builds that run under an emulator: more optimisation costs more compile time than it saves in test time.
set(CMAKE_CXX_FLAGS_FOREIGN "-O1 -DNDEBUG")

add_library(shunt_flags INTERFACE)
target_compile_options(shunt_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  $<$<BOOL:${SHUNT_WERROR}>:-Werror>
  # Results must not depend on whether the compiler fuses a multiply and an add.
  -ffp-contract=off
  # Messages name files relative to the checkout, so objects do not depend on where that is.
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False positive at a string literal + std::string: https://gcc.gnu.org/PR105329
  target_compile_options(shunt_flags INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # This warning has false positives, as GCC's manual says. They depend on inlining, and so on the files of a translation unit.
  # The warning is shown, but it must not stop a build.
  target_compile_options(shunt_flags INTERFACE -Wno-error=maybe-uninitialized)
endif()
# GCC collects garbage from a heap of 128 MiB on, which takes a tenth of the compile time. Start at 512 MiB where each core has 2 GiB.
include(memory_limit)
shunt_usable_memory(usable_memory)
cmake_host_system_information(RESULT host_cores QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR memory_per_core "${usable_memory} / ${host_cores}")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND memory_per_core GREATER_EQUAL 2048)
  target_compile_options(shunt_flags INTERFACE "SHELL:--param ggc-min-heapsize=524288")
endif()
if(SHUNT_SANITIZE)
  target_compile_options(shunt_flags INTERFACE -fsanitize=${SHUNT_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(shunt_flags INTERFACE -fsanitize=${SHUNT_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Sanitizers cause false positives of this warning, as GCC's manual says.
    target_compile_options(shunt_flags INTERFACE -Wno-maybe-uninitialized)
    if(SHUNT_SANITIZE MATCHES "address" AND SHUNT_SANITIZE MATCHES "undefined")
      # AddressSanitizer, or a signal, ends an access through a null or dangling pointer anyway. These checks take a third of the compile
      # time. References to nothing that are never read pass here, and so do accesses that are aligned wrongly outside the CPU's kernels
      # and the twins of CANN and zDNN. Fuzz targets, which clang compiles, have all checks.
      target_compile_options(shunt_flags INTERFACE -fno-sanitize=null,object-size,alignment)
    endif()
  endif()
endif()
if(SHUNT_COVERAGE)
  # Tests and twins link the library for counting, too, but they are not instrumented.
  target_link_options(shunt_flags INTERFACE --coverage)
endif()

option(SHUNT_OPTIMIZE_TESTS "Optimize what tests share and the command; OFF compiles them with -O0, as all test code" ON)
mark_as_advanced(SHUNT_OPTIMIZE_TESTS)

# shunt_compile_fast(TARGET): a target that computes little itself, such as tests and the command. Release builds compile it with -O1,
# which takes GCC half the time of -O3, or without optimization. Warnings are the same.
function(shunt_compile_fast target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(NOT SHUNT_OPTIMIZE_TESTS)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# Linked last, so that their flags follow -fsanitize. AddressSanitizer, or a signal, ends an access through a wrong pointer anyway. For
# the CPU's kernels and twins, whose time of compiling doubles with these checks; and for tests, half of whose code would be checks.
# The library and all other backends have the other checks.
add_library(shunt_unchecked_accesses INTERFACE)
add_library(shunt_unchecked_pointers INTERFACE)
if(SHUNT_SANITIZE MATCHES "undefined")
  target_compile_options(shunt_unchecked_accesses INTERFACE
    -fsanitize=alignment -fno-sanitize=null,object-size,pointer-overflow)
  target_compile_options(shunt_unchecked_pointers INTERFACE -fno-sanitize=alignment,null,object-size,pointer-overflow,vptr)
endif()

# shunt_compile_tests(TARGET): as shunt_compile_fast(). The sanitizers check test code, too, but for pointers.
function(shunt_compile_tests target)
  shunt_compile_fast(${target})
  if(NOT SHUNT_OPTIMIZE_TESTS)
    target_link_libraries(${target} PRIVATE shunt_unchecked_pointers)
  endif()
endfunction()

# shunt_compile_test_files(TARGET): files of tests. -O0 takes GCC a third less time than -O1; what computes much is in tests/support.
function(shunt_compile_test_files target)
  shunt_compile_tests(${target})
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
endfunction()

# shunt_bind_own_functions(TARGET): a library calls its own instances of inline functions, and not those of a test executable, which is
# not optimized. An installed library does so everywhere (exports.cmake).
function(shunt_bind_own_functions target)
  target_link_options(${target} PRIVATE LINKER:-Bsymbolic-functions)
endfunction()
