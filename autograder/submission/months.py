"""The names of months, whole and abbreviated, in the languages that learning platforms write them in.

From Unicode's CLDR (by Babel 2.18), in lower case and without the dot, and some without their accents. A word that is
another month in another language, such as `listopad`, is not among them: nobody knows which is meant.
"""

NAMES = (
    "ean eanáir ene enero gen gener gennaio ian ianuarie ion ionawr jaan jaanuar jan janar janeiro januar januari "
    "januarie january január januára janv janvier janvāris janúar jän jänner led leden ledna oca ocak saus sausio "
    "sausis sij siječanj siječnja sty styczeń stycznia tammi tammikuu tammikuuta urt urtarrila xan xaneiro yan "
    "yanvar ιαν ιανουάριοσ ιανουαρίου сту студзень студзеня січ січень січня янв январь января яну януари јан "
    "јануар јануари қаң қаңтар հնվ հունվար հունվարի ינואר يناير ژانویه იან იანვარი",
    "chw chwef chwefror feabh feabhra feb febbraio febr febreiro febrer febrero februar februari februarie february "
    "február februára februāris febrúar fev fevereiro fevral fevrier févr février helmi helmikuu helmikuuta lut "
    "lutego luty ots otsaila shk shkurt vas vasario vasaris veebr veebruar velj veljača veljače úno únor února şub "
    "şubat φεβ φεβρουάριοσ φεβρουαρίου ақп ақпан лют лютага лютий лютого люты феб фебруар фев февр февраль февраля "
    "февруари փետրվար փետրվարի փտվ פברואר فبراير فوریه თებ თებერვალი",
    "bře březen března kov kovas kovo maalis maaliskuu maaliskuuta maart mac machi maerz mar marca march marec "
    "maret mars mart martie marts martxoa marzec marzo març março maw mawrth mrt márc március márta mäe mäerz mär "
    "märts märz ožu ožujak ožujka μάρ μάρτιοσ μαρ μαρτίου бер березень березня мар март марта нау наурыз сак "
    "сакавік сакавіка մարտ մարտի մրտ מרץ مارس მარ მარტი",
    "abr abril abrëll aib aibreán api apirila apr aprel april aprile aprili aprilie aprill apríl apríla aprīlis avr "
    "avril bal balandis balandžio dub duben dubna ebr ebrill huhti huhtikuu huhtikuuta kwi kwiecień kwietnia nis "
    "nisan pri prill tra travanj travnja ápr április απρ απρίλιοσ απριλίου апр апрель апреля април квіт квітень "
    "квітня кра красавік красавіка сәу сәуір ապր ապրիլ ապրիլի אפריל آوریل أبريل აპრ აპრილი",
    "beal bealtaine geg gegužė gegužės kvě květen května mag maggio mai maiatza maig maijs maio maj maja may mayo "
    "mayıs maí mee mei máj mája május svi svibanj svibnja touko toukokuu toukokuuta μάι μάιοσ μαΐ μαΐου май мам "
    "мамыр мая мај трав травень травня մայիս մայիսի մյս מאי مايو მაი მაისი",
    "birž birželio birželis cze czerwca czerwiec eka ekaina giu giugno haz haziran iun iunie iyn iyun juin jun june "
    "junho juni junie junij junio juny juuni jún júna június júní jūn jūnijs kesä kesäkuu kesäkuuta lipanj lipnja "
    "meh mehefin meith meitheamh qer qershor xuño červen června čvn ιουν ιουνίου ιούν ιούνιοσ июн июнь июня мау "
    "маусым черв червень червня чэр чэрвень чэрвеня юни јун јуни հնս հունիս հունիսի יוני يونيو ژوئن ივნ ივნისი",
    "gor gorff gorffennaf heinä heinäkuu heinäkuuta iul iulie iyl iyul iúil juil juillet jul julai julho juli julie "
    "julij julio juliol july juuli júl júla július júlí jūl jūlijs korr korrik liep liepa liepos lipca lipiec lug "
    "luglio srpanj srpnja tem temmuz uzt uztaila xul xullo července červenec čvc ιουλ ιουλίου ιούλ ιούλιοσ июл июль "
    "июля лип липень липня ліп ліпень ліпеня шіл шілде юли јул јули հլս հուլիս հուլիսի יולי يوليو ژوئیه ივლ ივლისი",
    "abu abuztua ago agost agosti agosto agu agustus aout août aug august augusta augusti augusts augustus "
    "augusztus avg avgust avq avqust awst ağu ağustos elo elokuu elokuuta gush gusht kol kolovoz kolovoza lún "
    "lúnasa ogo ogos rugp rugpjūtis rugpjūčio sie sierpień sierpnia srpen srpna ágú ágúst αυγ αυγούστου αύγ "
    "αύγουστοσ авг август августа жні жнівень жніўня серп серпень серпня там тамыз օգոստոս օգոստոսի օգս אוגוסט "
    "أغسطس اوت აგვ აგვისტო",
    "eyl eylül ira iraila medi mfómh rugs rugsėjis rugsėjo ruj rujan rujna sen sentabr sentyabr sep sept septemba "
    "septembar september septembra septembre septembrie septembris septiembre set setembre setembro settembre sht "
    "shtator syys syyskuu syyskuuta szept szeptember wrz wrzesień września zář září σεπ σεπτέμβριοσ σεπτεμβρίου вер "
    "верасень верасня вересень вересня сент сентябрь сентября сеп септембар септември қыр қыркүйек սեպ սեպտեմբեր "
    "սեպտեմբերի ספטמבר سبتمبر سپتامبر სექ სექტემბერი",
    "dfómh eki ekim hyd hydref loka lokakuu lokakuuta oct october octobre octombrie octubre okt oktabr oktoba "
    "oktobar oktober oktobris oktoober oktyabr október októbra ott ottobre out outubro paź październik października "
    "spal spalio spalis tet tetor urr urria říj říjen října οκτ οκτωβρίου οκτώβριοσ жовт жовтень жовтня кас "
    "кастрычнік кастрычніка окт октобар октомври октябрь октября қаз қазан հոկ հոկտեմբեր հոկտեմբերի אוקטובר أكتوبر "
    "اکتبر ოქტ ოქტომბერი",
    "aza azaroa kas kasım lapkr lapkritis lapkričio listopadu marras marraskuu marraskuuta noiembrie nov novemba "
    "novembar november novembra novembre novembris novembro noviembre noy noyabr nën nëntor nóv nóvember samh "
    "samhain stu studeni studenoga tach tachwedd νοέ νοέμβριοσ νοε νοεμβρίου лист листопад листопада ліс лістапад "
    "лістапада нов новембар ное ноември нояб ноябрь ноября қар қараша նոյ նոյեմբեր նոյեմբերի נובמבר نوامبر نوفمبر "
    "ნოე ნოემბერი",
    "abe abendua ara aralık dec decembar december decembra decembre decembrie decembris decembro dek dekabr des "
    "desemba desember desembre dets detsember dez dezember dezembro dhj dhjetor dic dicembre diciembre dis disember "
    "déc décembre gru grudnia grudzień gruod gruodis gruodžio joulu joulukuu joulukuuta noll nollaig pro prosinac "
    "prosinca prosince prosinec rhag rhagfyr δεκ δεκέμβριοσ δεκεμβρίου груд грудень грудня дек декабрь декабря "
    "декември дец децембар жел желтоқсан сне снежань снежня դեկ դեկտեմբեր դեկտեմբերի דצמבר دسامبر ديسمبر დეკ "
    "დეკემბერი",
)
MONTH_OF = {name: number for number, names in enumerate(NAMES, start=1) for name in names.split()}
# `listopada` is November in Polish and October in Croatian: the weekday before it says which
DOUBTFUL = {"listopada": {11: "poniedziałek wtorek środa czwartek piątek sobota niedziela".split()}}
DOUBTFUL["listopada"][10] = "ponedjeljak utorak srijeda četvrtak petak subota nedjelja".split()
