# The form in which Doxygen reads a file (docs/Doxyfile). The number of lines stays, so that messages name the right one.

# Links to files of the repository would lead nowhere. Their text stays, and Doxygen links names of headers itself.
s/\[([^]]*)\]\(\.\.[^)]*\)/\1/g

# Comments of ops have an operand, the result or a formula a line: these begin a line of the page, too.
s,^/// ((`[a-z_0-9]+`(\, )?)+(optional)?:),/// \\n \1,
s,^/// (The (result|outputs) (is|are) ),/// \\n \1,
s,^///   (`),/// \\n \1,
