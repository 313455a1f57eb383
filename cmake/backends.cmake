# shunt_add_backend(NAME SOURCES...): the backend of the calling folder. Listed in SHUNT_PLUGIN_BACKENDS it becomes a
# plugin, shunt-backend-NAME.so, else it is built into libshunt. The code is the same: one entry point, whose
# name is a definition. Its kernels are the files of its kernels/ folder: each file kernels/OP.cpp defines
# OP_kernels(), and the table that lists them all is generated from the file names.
set(SHUNT_PLUGIN_BACKENDS "" CACHE STRING "Backends to build as plugins instead of into the library (a;b;c)")
define_property(GLOBAL PROPERTY SHUNT_BUILTIN_BACKENDS)

function(shunt_add_backend name)
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

  if(name IN_LIST SHUNT_PLUGIN_BACKENDS)
    add_library(shunt-backend-${name} MODULE ${ARGN} ${kernel_files})
    set_target_properties(shunt-backend-${name} PROPERTIES
      PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/shunt)  # where the library looks
    target_compile_definitions(shunt-backend-${name} PRIVATE SHUNT_BACKEND_ENTRY=shunt_backend)
    target_link_libraries(shunt-backend-${name} PRIVATE shunt_flags shunt)
    set(target shunt-backend-${name})
    install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/shunt)
  else()
    add_library(shunt_backend_${name} OBJECT ${ARGN} ${kernel_files})
    target_compile_definitions(shunt_backend_${name} PRIVATE SHUNT_BACKEND_ENTRY=shunt_backend_${name})
    set(target shunt_backend_${name})
    set_property(GLOBAL APPEND PROPERTY SHUNT_BUILTIN_BACKENDS ${name})
  endif()
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
  target_link_libraries(${target} PRIVATE shunt_private)
  set(backend_target ${target} PARENT_SCOPE)
endfunction()
