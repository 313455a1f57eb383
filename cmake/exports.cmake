# shunt_install_library(TARGET HEADERS headers... [USERS targets...] [NEEDS libraries...]): installs a shared library that exports only
# what these headers declare and what other programs and libraries of ours that are installed, USERS, need. It is linked once more, from the
# objects of TARGET, with a version script: in the build tree TARGET exports everything, for tests and benchmarks. What is installed is
# called TARGET_installed; NEEDS are its public libraries. TARGET has SOVERSION and all its libraries by now.
function(shunt_install_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;USERS;NEEDS")
  set(users "")
  foreach(user IN LISTS arg_USERS)
    list(APPEND users $<TARGET_FILE:${user}>)
  endforeach()
  set(map ${CMAKE_BINARY_DIR}/generated/${target}.map)
  add_custom_command(OUTPUT ${map}
    COMMAND ${CMAKE_COMMAND} -E env NM=${CMAKE_NM} ${PROJECT_SOURCE_DIR}/tools/write-export-map
            ${map} $<TARGET_FILE:${target}> ${arg_HEADERS} -- ${users}
    DEPENDS ${target} ${arg_USERS} ${arg_HEADERS}
            ${PROJECT_SOURCE_DIR}/tools/write-export-map ${PROJECT_SOURCE_DIR}/tools/list-exports
    COMMENT "Listing what lib${target} exports when it is installed"
    VERBATIM COMMAND_EXPAND_LISTS)

  set(installed ${target}_installed)
  add_library(${installed} SHARED $<TARGET_OBJECTS:${target}> ${map})
  get_target_property(libraries ${target} LINK_LIBRARIES)
  list(REMOVE_ITEM libraries ${arg_NEEDS} shunt)
  target_link_libraries(${installed} PUBLIC ${arg_NEEDS} PRIVATE ${libraries})
  target_link_options(${installed} PRIVATE LINKER:--version-script=${map})
  string(REGEX REPLACE "^shunt_?" "" export_name ${target})
  if(NOT export_name)
    set(export_name shunt)
  endif()
  set_target_properties(${installed} PROPERTIES
    OUTPUT_NAME ${target} EXPORT_NAME ${export_name} LINKER_LANGUAGE CXX LINK_DEPENDS ${map}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/installed-lib INSTALL_RPATH "$ORIGIN")
  install(TARGETS ${installed} EXPORT shunt-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()
