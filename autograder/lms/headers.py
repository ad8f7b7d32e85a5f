"""The headers of a roster's columns, in the languages in which platforms and offices export them, and words of totals.

They are compared without case, and with a blank for each mark: `E-Mail`, `e_mail` and `E Mail` are one.
"""

from __future__ import annotations

import functools
import re
import unicodedata

from ..intake import worksheet

UNSEEN = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")  # marks that show nothing, in copies
NUMBER_MARK = re.compile("[#№]")
LATIN = re.compile("[\\0-\u024f]*[A-Za-z\u00c0-\u024f][\\0-\u024f]*")  # a piece of text in Latin letters
BRACKETS = re.compile(r"[(\[].*?[)\]]")


def cleaned(text: str) -> str:
    """A cell without blanks around it, and without what shows nothing."""
    return UNSEEN.sub("", text).strip()


def plain(header: str) -> str:
    """A header to compare."""
    text = unicodedata.normalize("NFKC", NUMBER_MARK.sub(" no ", cleaned(header))).casefold()
    return " ".join(re.sub(r"[^\w]+|_", " ", text).split())


@functools.lru_cache(maxsize=1_000)
def parts_of(header: str) -> frozenset[str]:
    """What a header may be, to compare: without what is in brackets, or in one of its languages or scripts."""
    text = BRACKETS.sub(" ", unicodedata.normalize("NFKC", header))
    scripts = (" ".join(LATIN.findall(text)), LATIN.sub(" ", text))
    return frozenset(filter(None, map(plain, (text, *text.split("/"), *scripts))))


def _list(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(plain(name) for name in text.split("|")))


FIRST_NAME = _list(
    """first_name|firstname|first|given name|given names|givenname|forename|legal first name|Vorname|Vornamen
    |Rufname|Prénom|Prénoms|prenom|Nombre|Nombres|Nombre(s)|Nom|Nome|Voornaam|Voornamen|Roepnaam|Имя
    |Ім’я|Імʼя|Імя|Förnamn|Fornavn|Etunimi|Etunimet|Imię|Imiona|Jméno|Křestní jméno|Meno
    |Keresztnév|Utónév|Ime|Prenume|Ad|Adı|İsim|Eesnimi|Vārds|Vardas|Όνομα|Име|Izena|Fornafn
    |Enw cyntaf|名|名字 (名)|이름(명)|الاسم الأول|שם פרטי|نام|Tên|ชื่อ|Nama depan|प्रथम नाम"""
)
LAST_NAME = _list(
    """last_name|lastname|last|surname|family name|familyname|legal last name|Nachname|Familienname|Zuname
    |Nom de famille|Apellidos|Apellido|Apellido(s)|Cognoms|Cognom|Cognome|Achternaam|Familienaam|Apelido
    |Apelidos|Sobrenome|Фамилия|Прізвище|Efternamn|Etternavn|Efternavn|Sukunimi|Nazwisko
    |Příjmení|Priezvisko|Vezetéknév|Családnév|Prezime|Priimek|Nume|Nume de familie|Soyad|Soyadı
    |Soyisim|Perekonnanimi|Perenimi|Uzvārds|Pavardė|Επώνυμο|Фамилно име|Презиме
    |Abizena|Abizenak|Eftirnafn|Cyfenw|姓|성|اسم العائلة|שם משפחה|نام خانوادگی|Họ|Họ và tên đệm|นามสกุล
    |Nama belakang|उपनाम|Nom"""  # "Nom" beside "Prénom"; beside "Cognoms" it is the first name
)
FULL_NAME = _list(
    """full name|fullname|user full name|student|name|student name|students|name of student|names|learner
    |learner name|participant|participant name|display name|Vollständiger Name|Name, Vorname|Vorname Name
    |Nachname, Vorname|Vorname Nachname|Studierende|Studierende/r|Student/in|Student*in|Student:in
    |Teilnehmer|Teilnehmer/in|Nom complet|Nom et prénom|Nom, prénom|Nom prénom|Prénom et nom|Étudiant
    |Étudiant(e)|Nom de l’étudiant|Nombre completo|Apellidos y nombre|Apellidos, nombre|Nombre y apellidos
    |Nombre del estudiante|Nombre del alumno|Estudiante|Alumno|Alumno/a|Cognoms i nom|Nom i cognoms
    |Nome completo|Cognome e nome|Cognome nome|Nome e cognome|Nominativo|Studente|Nome do aluno
    |Nome do estudante|Aluno|Estudante|Volledige naam|Naam|Naam student|Полное имя|ФИО
    |Ф. И. О.|Студент|Имя и фамилия|Фамилия и имя|Фамилия, имя
    |ПІБ|Студент(ка)|Fullständigt namn|Namn|Navn|Fulde navn|Fullt navn|Nimi|Koko nimi
    |Imię i nazwisko|Nazwisko i imię|Nazwisko, imię|Jméno a příjmení|Příjmení a jméno|Celé jméno
    |Meno a priezvisko|Teljes név|Név|Ime i prezime|Prezime i ime|Ime in priimek|Priimek in ime
    |Nume și prenume|Nume si prenume|Numele și prenumele|Ad Soyad|Adı Soyadı|Ad ve Soyad|Täisnimi
    |Vārds, uzvārds|Vardas, pavardė|Ονοματεπώνυμο|Име и фамилия
    |Име и презиме|Izen-abizenak|Fullt nafn|Nafn|姓名|名字|学生姓名|學生姓名|中文姓名|真实姓名
    |氏名|名前|お名前|学生氏名|氏名(漢字)|フルネーム|이름|성명|성함|학생 이름|학생명|الاسم|الاسم الكامل
    |اسم الطالب|שם|שם מלא|שם הסטודנט|نام و نام خانوادگی|Họ và tên|Họ tên|Tên sinh viên|ชื่อ-นามสกุล
    |ชื่อ - สกุล|ชื่อ-สกุล|Nama|Nama lengkap|Nama mahasiswa|नाम|छात्र का नाम"""
)
EMAIL = _list(
    """email|e-mail|mail|email address|e-mail address|mail address|student email|student e-mail
    |student email address|university email|university e-mail|institutional email|school email|primary email
    |emailadresse|mailadresse|E-Mail-Adresse|E-Mail Uni|Courriel|Adresse courriel|Adresse e-mail
    |Adresse mail|Adresse électronique|Correo|Correo electrónico|Correo institucional
    |Dirección de correo electrónico|Correu|Correu electrònic|Indirizzo e-mail|Posta elettronica
    |Correio eletrônico|Correio eletrónico|Endereço de e-mail|E-mailadres|Почта|Эл. почта
    |Электронная почта|Адрес эл. почты|Email адрес|Е-мейл|Имейл
    |Пошта|Електронна пошта|E-post|Epost|E-postadress|E-postadresse|Mejladress
    |Mailadresse|Sähköposti|Sähköpostiosoite|Adres e-mail|Adres email|Poczta elektroniczna|E-mailová adresa
    |Emailová adresa|E-mail cím|Email cím|E-pošta|E-poštni naslov|Adresa e-mail|Adresă de e-mail|E-posta
    |E-posta adresi|Eposta|E-posti aadress|E-pasts|E-pasta adrese|El. paštas|El. pašto adresas
    |Ηλ. ταχυδρομείο|Διεύθυνση email|Helbide elektronikoa|Netfang|邮箱|电子邮箱|电子邮件
    |邮箱地址|邮件|電子郵件|電郵|信箱|メール|メールアドレス|Eメール|Eメールアドレス|電子メール|이메일
    |이메일 주소|전자우편|메일|البريد الإلكتروني|بريد إلكتروني|דוא"ל|דואר אלקטרוני|ایمیل|Thư điện tử
    |Địa chỉ email|อีเมล|อีเมล์|Surel|Alamat email|ईमेल"""
)
LOGIN = _list(
    """SIS Login ID|username|user name|user id|userid|login|login id|login name|netid|net id|uni login|unikey
    |eid|uid|account|account name|Benutzername|Anmeldename|Nutzername|Kennung|Unikennung|Uni-Kennung
    |SIS-Anmelde-ID|Nom d’utilisateur|Identifiant de connexion|Nombre de usuario|Usuario|Nome utente
    |Nome de usuário|Nome de utilizador|Nom d’usuari|Gebruikersnaam|Användarnamn|Brugernavn|Brukernavn
    |Nazwa użytkownika|Логин|Имя пользователя|Логін|Ім’я користувача
    |Käyttäjätunnus|Uživatelské jméno|Používateľské meno|Felhasználónév|Korisničko ime
    |Uporabniško ime|Nume utilizator|Nume de utilizator|Kullanıcı adı|Kasutajanimi|Kasutajatunnus
    |Lietotājvārds|Naudotojo vardas|Όνομα χρήστη|Потребителско име
    |Корисничко име|用户名|账号|帐号|使用者名稱|帳號|ユーザー名|ユーザ名|ユーザーID|ユーザID
    |アカウント|아이디|사용자명|사용자 이름|اسم المستخدم|שם משתמש|نام کاربری|Tên đăng nhập|ชื่อผู้ใช้
    |Nama pengguna"""
)
# the number or name by which the university knows a student: the id, where there is no login. The state's number of a
# person is none of them: an id is in file names and on pages
NUMBER = _list(
    """student sis id|student id|studentid|student number|studentnumber|student no|student no.|student #|student code
    |sis user id|sis id|orgdefinedid|org defined id|identifier|matriculation number|matriculation no|matric no
    |registration number|registration no|roll number|roll no|university id|campus id|candidate number
    |enrollment number|enrolment number|index number|emplid|empl id|cwid|puid|banner id|student identifier
    |Matrikelnummer|Matrikel-Nr.|Matrikelnr.|Matrikel|Matr.-Nr.|Matrnr|Immatrikulationsnummer
    |Studierendennummer|Leginummer|Legi-Nr.|Personenkennung|Numéro étudiant|Numéro d’étudiant
    |N° étudiant|No étudiant|Matricule|Numéro de matricule|Code permanent|Code étudiant|INE|Matricola
    |Numero di matricola|N. matricola|Numero matricola|Matrícula|Número de matrícula
    |Número de estudiante|Número de alumno|Número de expediente|Expediente|Carné|Carnet|Legajo|NIA
    |Código de estudiante|Número de aluno|Número mecanográfico|N.º mecanográfico|Nº de aluno|RA
    |Studentnummer|Studentennummer|Stamnummer|Studienummer|Opiskelijanumero|Numer albumu|Nr albumu
    |Numer indeksu|Nr indeksu|Numer studenta|Osobní číslo|Studentské číslo|UČO|Osobné číslo
    |Neptun kód|Neptun|JMBAG|Broj indeksa|Vpisna številka|Număr matricol|Nr. matricol|Öğrenci no
    |Öğrenci numarası|Tudengikood|Üliõpilaskood|Matrikli number|Apliecības numurs
    |Studenta apliecības numurs|Studento numeris|Αριθμός μητρώου|ΑΜ|Α.Μ.
    |Факултетен номер|Фак. №|Номер студенческого билета
    |Студенческий билет|Номер зачётной книжки
    |Номер зачетной книжки|Зачетная книжка|Номер студента
    |Табельный номер|Номер залікової книжки|学号|學號|学生学号
    |学生编号|学生番号|学籍番号|学生証番号|学生ID|학번|학생 번호|학생ID|رقم الطالب|الرقم الجامعي|מספר סטודנט
    |שماره دانشجویی|شماره دانشجویی|Mã sinh viên|Mã số sinh viên|MSSV|รหัสนักศึกษา|รหัสนิสิต
    |รหัสประจำตัว|NIM|NPM|NRP|Nomor induk mahasiswa|अनुक्रमांक"""
)
SECTION = _list(
    "Section|Sections|Abschnitt|Sección|Secció|Seção|Secção|Sezione|Sectie|Sektion|Seksjon|Секция|Ryhmä|Sekcja"
)
# what Canvas calls the column of names in its gradebook
CANVAS_NAME = _list("Student|Student/in|Studierende|Studierende/r|Étudiant|Étudiant(e)|Estudiante|Studente|Aluno|Elev")
COLUMNS: dict[str, tuple[str, ...]] = {
    "id": (),  # exactly `id` or `student_id`: "Student ID" is the university's
    "first_name": FIRST_NAME,
    "last_name": LAST_NAME,
    "name": FULL_NAME,
    "email": (*EMAIL, *(header for header in map(plain, worksheet.texts("email")) if header not in EMAIL)),
    "lms_user_id": (plain("lms_user_id"), "sid", *map(plain, worksheet.texts("id number"))),
    "login": LOGIN,
    "number": NUMBER,
    "dropped": ("dropped",),
    "role": ("role",),
}
OWN_IDS = ("id", "student_id")
OTHERS = re.compile(  # whose address or number it is, if not the student's own
    r"\b(?:tutor|supervis|advis|parent|guardian|mother|father|teacher|instructor|lecturer|betreu|eltern|tel|phone|mobil"
    r"|handy|fax|móvil|movil)",
)

# --- rows about the class -------------------------------------------------------------------------

# Words that begin one of a name that no person has: of totals, in whatever cell and with whatever beside them.
TOTALS = re.compile(
    r"\bn\s?=\s?\d|\b(?:(?:sub|grand)?totals?|average|avg|averages|median|stdev|std|deviation|statistics?|summary"
    r"|gesamt\w*|insgesamt|\w*durchschnitt\w*|mittelwerte?|standardabweichung|maximalpunkte|höchstpunktzahl"
    r"|moyenne\w*|médiane|écart|promedios?|mediana|desviación|totale|totali|deviazione|média|desvio|totaal"
    r"|gemiddeldes?|mitjana|medelvärde|genomsnitt\w*|gennemsnit\w*|gjennomsnitt\w*|keskiarvo\w*|yhteensä|średni\w*"
    r"|razem|odchylenie|průměr\w*|celkem|priemer\w*|spolu|átlag\w*|összesen|prosjek\w*|ukupno|povprečj\w*|skupaj|medie"
    r"|ortalama\w*|toplam\w*|keskmine|kokku|vidējais|kopā|vidurkis|iš viso|μέσος|σύνολο|средн\w*|среден|итого?|всего"
    r"|медиана|середн\w*|усього|разом|общо|вкупно)\b|平均|总计|總計|合计|合計|总分|總分|标准差|標準偏差|最高分|最低分|중앙값|평균|합계|총점|총계"
    r"|متوسط|المجموع|ממוצע|סה\"?כ|میانگین|trung bình|tổng cộng|ค่าเฉลี่ย|รวมทั้งหมด|rata-rata|औसत"
)
# Names of such rows that are people's, too: the whole name of nobody who has no address, login or number either.
WHOLE = frozenset(
    plain(name)
    for name in """points|points possible|possible points|max points|maximum points|maximum|minimum|mean|class mean
    |sum|date|due date|weight|weights|count|number of students|summe|mittel|punkte|maximale punkte|max. punkte
    |anzahl|datum|somme|note maximale|suma|media|media general|media de la clase|puntos|fecha|somma
    |media complessiva|media generale|punti|data|pontos|soma|punten|punts|summa|poäng|suma punktów
    |сумма|баллы""".split("|")
)
