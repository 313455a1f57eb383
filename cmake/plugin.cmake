# How a backend is built as a plugin, in this tree and outside it: find_package(shunt COMPONENTS backend) includes this file.

# shunt_add_kernels(TARGET): adds the files of the calling folder's kernels/. Each file kernels/OP.cpp defines OP_kernels(), and the table
# that lists them all, kernel_list.inc, is generated from the file names.
function(shunt_add_kernels target)
  file(GLOB kernel_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/kernels/*.cpp)
  set(declarations "")
  set(calls "")
  foreach(file IN LISTS kernel_files)
    cmake_path(GET file STEM op)
    string(APPEND declarations "KernelList ${op}_kernels();\n")
    string(APPEND calls "  ${op}_kernels,\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/kernel_list.inc CONTENT
"// Generated from the names of the files in kernels/.
${declarations}
inline constexpr KernelList (*kKernelFiles[])() = {
${calls}};
" @ONLY)
  target_sources(${target} PRIVATE ${kernel_files})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()

# shunt_add_plugin(NAME SOURCES...): the target shunt-backend-NAME, a plugin with these sources and the kernels of the calling folder.
# Its entry point, called SHUNT_BACKEND_ENTRY in the sources, is the only symbol that it exports.
function(shunt_add_plugin name)
  set(target shunt-backend-${name})
  set(map ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin.map)
  add_library(${target} MODULE ${ARGN})
  shunt_add_kernels(${target})
  set_target_properties(${target} PROPERTIES PREFIX "" CXX_EXTENSIONS OFF LINK_DEPENDS ${map})
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_definitions(${target} PRIVATE SHUNT_BACKEND_ENTRY=shunt_backend)
  target_link_libraries(${target} PRIVATE shunt::backend)
  target_link_options(${target} PRIVATE LINKER:--version-script=${map})
endfunction()
