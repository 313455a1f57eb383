# shunt_add_backend(NAME SOURCES...): the backend of the calling folder. Listed in SHUNT_PLUGIN_BACKENDS it becomes a
# plugin, shunt-backend-NAME.so, else it is built into libshunt. The code is the same: one entry point, whose
# name is a definition. Its kernels are the files of its kernels/ folder (plugin.cmake).
include(plugin)
set(SHUNT_PLUGIN_BACKENDS "" CACHE STRING "Backends to build as plugins instead of into the library (a;b;c)")
define_property(GLOBAL PROPERTY SHUNT_BUILTIN_BACKENDS)

function(shunt_add_backend name)
  if(name IN_LIST SHUNT_PLUGIN_BACKENDS)
    set(target shunt-backend-${name})
    shunt_add_plugin(${name} ${ARGN})
    set_target_properties(${target} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/shunt  # where the library looks
      INSTALL_RPATH "$ORIGIN/..")
    install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/shunt)
  else()
    set(target shunt_backend_${name})
    add_library(${target} OBJECT ${ARGN})
    shunt_add_kernels(${target})
    target_compile_definitions(${target} PRIVATE SHUNT_BACKEND_ENTRY=${target})
    set_property(GLOBAL APPEND PROPERTY SHUNT_BUILTIN_BACKENDS ${name})
  endif()
  target_link_libraries(${target} PRIVATE shunt_private)
  shunt_unity(${target})
  set(backend_target ${target} PARENT_SCOPE)
endfunction()
