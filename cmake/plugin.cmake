# How a backend is built as a plugin, in this tree and outside it: find_package(shunt COMPONENTS backend) includes this file.

# shunt_generate_list(NAME FOLDER TYPE SUFFIX TABLE FILES...): writes NAME_list.inc into the build folder of the calling folder. Each of
# FILES, which are in FOLDER, defines the function "TYPE STEM_SUFFIX()", STEM being its name; TABLE is the array of these functions.
function(shunt_generate_list name folder type suffix table)
  set(declarations "")
  set(functions "")
  foreach(file IN LISTS ARGN)
    cmake_path(GET file STEM stem)
    string(APPEND declarations "${type} ${stem}_${suffix}();\n")
    string(APPEND functions "  ${stem}_${suffix},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}_list.inc CONTENT
"// Generated from the names of the files in ${folder}/.
${declarations}
inline constexpr ${type} (*${table}[])() = {
${functions}};
" @ONLY)
endfunction()

# shunt_add_kernels(TARGET): adds the files of the calling folder's kernels/. Each file kernels/OP.cpp defines OP_kernels(), and the table
# that lists them all, kernel_list.inc, is generated from the file names.
function(shunt_add_kernels target)
  file(GLOB kernel_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/kernels/*.cpp)
  shunt_generate_list(kernel kernels KernelList kernels kKernelFiles ${kernel_files})
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
  set_target_properties(${target} PROPERTIES PREFIX "" DEFINE_SYMBOL "" CXX_EXTENSIONS OFF LINK_DEPENDS ${map})
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_definitions(${target} PRIVATE SHUNT_BACKEND_ENTRY=shunt_backend)
  target_link_libraries(${target} PRIVATE shunt::backend)
  target_link_options(${target} PRIVATE LINKER:--version-script=${map})
endfunction()
