# Unity builds: several source files are compiled as one translation unit, so that headers are parsed once for all of them.
# A first build takes a third of the time. -DSHUNT_UNITY=OFF compiles each file by itself, which shows missing includes and
# gives an editor one compile command a file.
option(SHUNT_UNITY "Compile several source files as one translation unit" ON)
set(SHUNT_UNITY_FILES 12 CACHE STRING "Largest number of source files in one translation unit; of tests twice as many")
mark_as_advanced(SHUNT_UNITY_FILES)

# shunt_unity(TARGET [FILES [TOGETHER]]): groups the sources of a target by folder, at most FILES (SHUNT_UNITY_FILES) in a unit.
# Names in anonymous namespaces must be unique within a folder. TOGETHER groups all folders, for files with a namespace each.
# Left out: files that Highway includes once for each vector level, and files with compile options of their own (CMake itself
# leaves out those that get their options after this call).
function(shunt_unity target)
  if(NOT SHUNT_UNITY)
    return()
  endif()
  set(most ${SHUNT_UNITY_FILES})
  if(ARGC GREATER 1)
    set(most ${ARGV1})
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    if(NOT path MATCHES "\\.cpp$" OR NOT EXISTS ${path})
      continue()
    endif()
    file(STRINGS ${path} per_level REGEX "HWY_TARGET_INCLUDE|avx2_vnni.h|gnu::target")
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    if(per_level OR options OR definitions)
      continue()
    endif()
    cmake_path(GET path PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE key)
    string(MAKE_C_IDENTIFIER "${key}" key)
    if("TOGETHER" IN_LIST ARGN)
      set(key all)
    endif()
    list(APPEND folder_${key} ${source})
    list(LENGTH folder_${key} count)
    math(EXPR number "(${count} - 1) / ${most}")
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP "${key}_${number}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
