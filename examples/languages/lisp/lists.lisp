;; Sums and maxima of lists.

(defun sum (list)
  (if (null list)
      0
      (+ (car list) (sum (cdr list)))))

(defun largest (list)
  (reduce #'max list))

(defun squares (list)
  (mapcar (lambda (x) (* x x)) list))

(print (sum (squares '(1 2 3))))
