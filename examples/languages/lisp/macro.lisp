;;; Repeats a body while a condition holds.
(defmacro while (condition &body body)
  `(loop
     (unless ,condition (return))
     ,@body))

(let ((i 0))
  (while (< i 5)
    (format t "~a squared is ~a~%" i (* i i))
    (incf i)))
