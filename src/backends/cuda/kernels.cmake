# How kernels become PTX: shunt_cuda_modules(); for tests, shunt_cuda_ptx().
# -DSHUNT_CUDA_CLANG=PATH names another compiler. What was found is not kept, and a build configures again when a clang++ was installed.
file(GLOB installed_compilers CONFIGURE_DEPENDS /usr/bin/clang++* /usr/local/bin/clang++*)
list(FILTER installed_compilers INCLUDE REGEX "-(19|[2-9][0-9])$")
set(cuda_clangs ${SHUNT_CUDA_CLANG})
if(NOT cuda_clangs)
  list(SORT installed_compilers)
  set(cuda_clangs clang++-19 ${installed_compilers} clang++)
endif()

# Contraction is off, so that IEEE operations give the same bits on every card. The PTX version decides which drivers take it.
set(cuda_flags -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-path=/nonexistent -ffp-contract=off -O3 -std=c++20
  -Wall -Wextra)
if(SHUNT_WERROR)
  list(APPEND cuda_flags -Werror)
endif()
# Levels (target.h). A kernel file of a higher level is the same file, compiled for newer cards.
set(cuda_base_flags --cuda-gpu-arch=sm_61 --cuda-feature=+ptx60)
set(cuda_tensor_flags --cuda-gpu-arch=sm_80 --cuda-feature=+ptx70)
# Files that are compiled for level tensor, too: products of block formats. IQ1_M has a shift for eight elements, too few for tensor cores.
set(cuda_tensor_files "^matmul_(iq1_s|iq[2-4]|q[0-9]|tq[0-9]|mxfp4)")
# Encoders of block formats are the host's code: long loops, whose text would be several times as long when unrolled.
set(cuda_encoder_flags -fno-unroll-loops -I${PROJECT_SOURCE_DIR}/include)

# shunt_cuda_probe(OUT): the first compiler that makes PTX of a kernel; empty if none does.
function(shunt_cuda_probe out)
  set(${out} "" PARENT_SCOPE)
  set(refused "")
  foreach(name IN LISTS cuda_clangs)
    unset(clang)
    find_program(clang NAMES ${name} NO_CACHE)
    if(NOT clang)
      continue()
    endif()
    set(probed "")
    set(base_kernel paged_attention)
    set(tensor_kernel matmul/q8_0)
    foreach(level base tensor)
      execute_process(
        COMMAND ${clang} ${cuda_flags} ${cuda_${level}_flags} -I${PROJECT_SOURCE_DIR}/src
          -S ${CMAKE_CURRENT_SOURCE_DIR}/kernels/${${level}_kernel}.cu -o ${CMAKE_CURRENT_BINARY_DIR}/probe.ptx
        RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
      list(APPEND probed ${status})
    endforeach()
    if(probed STREQUAL "0;0")
      set(${out} ${clang} PARENT_SCOPE)
      return()
    endif()
    list(APPEND refused ${clang})
  endforeach()
  if(refused)
    message(STATUS "No CUDA kernels: ${refused} can't compile them; clang++ 19 or newer can")
  else()
    message(STATUS "No CUDA kernels: there is no clang++ (Debian's clang-19)")
  endif()
endfunction()

# shunt_cuda_ptx(OUT NAME LEVEL KERNEL): compiles a file of kernels and sets OUT to the generated source, whose k_NAME_LEVEL is the PTX. Without a
# compiler that is null. A compiler cache serves kernels, too: they are the same in all builds.
function(shunt_cuda_ptx out name level kernel)
  set(symbol ${name}_${level})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${symbol}_ptx.cpp)
  set(${out} ${source} PARENT_SCOPE)
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  get_property(clang GLOBAL PROPERTY SHUNT_CUDA_COMPILER)
  if(NOT clang)
    file(CONFIGURE OUTPUT ${source} CONTENT
      "namespace shunt::cuda {\nextern const char* const k_${symbol};\nconst char* const k_${symbol} = nullptr;\n}\n")
    return()
  endif()
  set(ptx ${CMAKE_CURRENT_BINARY_DIR}/${name}.${level}.ptx)
  set(embed ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed.cmake)
  set(flags ${cuda_flags} ${cuda_${level}_flags})
  if(name MATCHES "^encode")
    list(APPEND flags ${cuda_encoder_flags})
  endif()
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${clang} ${flags} -I${PROJECT_SOURCE_DIR}/src -S ${kernel} -o ${ptx}
      -MD -MT ${source} -MF ${ptx}.d
    COMMAND ${CMAKE_COMMAND} -DPTX=${ptx} -DNAME=${symbol} -DSOURCE=${source} -P ${embed}
    DEPENDS ${kernel} ${embed}
    DEPFILE ${ptx}.d
    COMMENT "Compiling CUDA kernels ${name}, level ${level}" VERBATIM)
endfunction()

# shunt_cuda_modules(OUT): compiles kernels/*.cu and sets OUT to the generated sources that contain the PTX. module_list.inc has the table.
function(shunt_cuda_modules out)
  shunt_cuda_probe(clang)
  set_property(GLOBAL PROPERTY SHUNT_CUDA_COMPILER ${clang})
  set(rows "")
  set(declarations "")
  set(sources "")
  if(clang)
    file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/kernels/*.cu
      ${CMAKE_CURRENT_SOURCE_DIR}/kernels/*/*.cu)
    foreach(kernel IN LISTS kernels)
      cmake_path(RELATIVE_PATH kernel BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/kernels OUTPUT_VARIABLE name)
      string(REGEX REPLACE "\\.cu$" "" name ${name})
      string(REPLACE "/" "_" name ${name})
      set(levels base)
      if(name MATCHES "${cuda_tensor_files}")
        list(APPEND levels tensor)
      endif()
      foreach(level IN LISTS levels)
        shunt_cuda_ptx(source ${name} ${level} ${kernel})
        list(APPEND sources ${source})
        string(APPEND declarations "extern const char* const k_${name}_${level};\n")
        string(APPEND rows "  {\"${name}\", \"${level}\", k_${name}_${level}},\n")
      endforeach()
    endforeach()
  else()
    set(rows "  {},  // this build has none\n")
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/module_list.inc CONTENT
"// Generated from the names of the files in kernels/.
const ModuleText kModules[] = {
${rows}};
" @ONLY)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/module_declarations.inc CONTENT "${declarations}" @ONLY)
  set(${out} ${sources} PARENT_SCOPE)
endfunction()
